// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "cuda/gpu.h"
#include "cuda/kernel_table.h"

namespace kf::cuda {

// A device range that a plan works on.
struct Range {
  CUdeviceptr address = 0;
  std::int64_t bytes = 0;
};

// One launch with everything resolved: nothing is looked up, loaded or allocated when it is queued. Move-only:
// `parameters` point into its own storage, which moves with it.
struct PreparedLaunch {
  PreparedLaunch() = default;
  PreparedLaunch(PreparedLaunch&&) = default;
  PreparedLaunch(const PreparedLaunch&) = delete;

  Launch::Kind kind = Launch::Kind::kKernel;
  std::string entry;
  CUfunction function = nullptr;
  CUlaunchConfig config{};
  std::vector<CUlaunchAttribute> attributes;
  std::vector<std::uint64_t> values;  // of pointer and scalar arguments
  std::deque<CUtensorMap> maps;       // of tensor map arguments: 64-byte aligned, addresses stay
  std::vector<void*> parameters;      // into the two above
  int stream = 0;                     // index into a StreamSet
  std::vector<int> waits;             // launches of other streams that it waits for
  bool is_awaited = false;            // by a launch of another stream, or by the join
  bool is_fenced = false;             // it may overlap with what follows it: an empty plain kernel stands behind it
  CUdeviceptr copy_to = 0, copy_from = 0;
  std::size_t copy_bytes = 0;
};

// A plan bound to buffers.
struct PreparedPlan {
  std::vector<Range> zeroed;  // workspaces with init "zero": a memset before the first launch
  std::vector<PreparedLaunch> launches;
  std::vector<int> joins;  // last launches of streams other than 0
  int streams = 1;
  int operations() const;  // stream operations that one queueing of it takes, at most
};

// Binds a plan. Throws kLaunchRefused for what cannot be launched.
PreparedPlan prepare_plan(Gpu& gpu, KernelTable& kernels, const ResolvedPlan& plan, std::span<const Range> tensors,
                          std::span<const Range> workspaces);

// Which stream each launch goes to, and which it must wait for. Pure; shared with its test.
struct StreamPlan {
  std::vector<int> stream;
  std::vector<std::vector<int>> waits;
  std::vector<int> joins;
  int streams = 1;
};
StreamPlan plan_streams(std::span<const std::vector<int>> after);

// Streams and events for plans whose launches form a graph; grown before use, reused afterwards.
class StreamSet {
 public:
  StreamSet(const Gpu& gpu, CUfunction fence) : gpu_(gpu), fence_(fence) {}
  void grow(const PreparedPlan& plan);
  // Streams made so far, the main one included.
  int count() const { return 1 + static_cast<int>(streams_.size()); }
  // Queues the plan between whatever is on `main` before and after: forks from it and joins it again.
  // `between` is called before each launch but the first.
  void enqueue(PreparedPlan& plan, CUstream main, const std::function<void()>& between = {});
  // Waits for all streams, after a plan of which only a part was queued.
  void drain(Gpu& gpu, std::chrono::milliseconds deadline) const;

 private:
  void launch(PreparedLaunch& launch, CUstream stream) const;

  const Gpu& gpu_;
  CUfunction fence_;
  Event fork_;
  std::vector<Stream> streams_;  // for stream indices 1..
  std::vector<Event> done_;      // one for each launch
};

}  // namespace kf::cuda
