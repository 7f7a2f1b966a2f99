// SPDX-License-Identifier: Apache-2.0
#include "cuda/launcher.h"

#include <algorithm>

#include "cuda/tensor_map.h"

namespace kf::cuda {
namespace {

[[noreturn]] void refuse(const std::string& id, const std::string& why) {
  throw Faulted{{DeviceFault::Kind::kLaunchRefused, "launch " + id + ": " + why}};
}

const Range& range_of(const Launch& launch, const Arg& arg, std::span<const Range> tensors,
                      std::span<const Range> workspaces) {
  const auto ranges = arg.kind == Arg::Kind::kWorkspace ? workspaces : tensors;
  if (arg.index < 0 || static_cast<std::size_t>(arg.index) >= ranges.size()) {
    refuse(launch.id, "an argument names buffer " + std::to_string(arg.index) + " of " + std::to_string(ranges.size()));
  }
  return ranges[static_cast<std::size_t>(arg.index)];
}

CUlaunchAttribute attribute(CUlaunchAttributeID id) {
  CUlaunchAttribute made{};
  made.id = id;
  return made;
}

std::vector<CUlaunchAttribute> attributes_of(const Launch& launch) {
  std::vector<CUlaunchAttribute> all;
  const auto [x, y, z] = launch.cluster;
  if (x * y * z > 1) {
    all.push_back(attribute(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION));
    all.back().value.clusterDim.x = x;
    all.back().value.clusterDim.y = y;
    all.back().value.clusterDim.z = z;
  }
  if (launch.flags.cluster_policy != "default") {
    all.push_back(attribute(CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE));
    all.back().value.clusterSchedulingPolicyPreference = launch.flags.cluster_policy == "spread"
                                                             ? CU_CLUSTER_SCHEDULING_POLICY_SPREAD
                                                             : CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING;
  }
  if (launch.flags.cooperative) {
    all.push_back(attribute(CU_LAUNCH_ATTRIBUTE_COOPERATIVE));
    all.back().value.cooperative = 1;
  }
  if (launch.flags.pdl) {
    all.push_back(attribute(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION));
    all.back().value.programmaticStreamSerializationAllowed = 1;
  }
  return all;
}

void bind_arguments(const Gpu& gpu, const ResolvedPlan& plan, const Launch& launch, std::span<const Range> tensors,
                    std::span<const Range> workspaces, PreparedLaunch& made) {
  made.values.reserve(launch.args.size());  // addresses of its elements are taken below
  for (const Arg& arg : launch.args) {
    switch (arg.kind) {
      case Arg::Kind::kTensor:
      case Arg::Kind::kWorkspace:
        made.values.push_back(range_of(launch, arg, tensors, workspaces).address);
        made.parameters.push_back(&made.values.back());
        break;
      case Arg::Kind::kTensorMap: {
        if (arg.index < 0 || static_cast<std::size_t>(arg.index) >= plan.maps.size()) {
          refuse(launch.id, "an argument names tensor map " + std::to_string(arg.index));
        }
        const TensorMap& map = plan.maps[static_cast<std::size_t>(arg.index)];
        const Arg of{map.of_workspace ? Arg::Kind::kWorkspace : Arg::Kind::kTensor, map.index, 0, 8};
        made.maps.push_back(encode_tensor_map(gpu, map, range_of(launch, of, tensors, workspaces).address));
        made.parameters.push_back(&made.maps.back());
        break;
      }
      case Arg::Kind::kScalar:
      case Arg::Kind::kNull:
        made.values.push_back(arg.kind == Arg::Kind::kNull ? 0 : arg.bits);
        made.parameters.push_back(&made.values.back());
        break;
    }
  }
}

PreparedLaunch prepare_copy(const Launch& launch, std::span<const Range> tensors, std::span<const Range> workspaces) {
  if (launch.args.size() != 3 || launch.args[2].kind != Arg::Kind::kScalar) {
    refuse(launch.id, "a memcpy takes a destination, a source and a number of bytes");
  }
  const Range& to = range_of(launch, launch.args[0], tensors, workspaces);
  const Range& from = range_of(launch, launch.args[1], tensors, workspaces);
  const std::uint64_t bytes = launch.args[2].bits;
  if (bytes > static_cast<std::uint64_t>(std::min(to.bytes, from.bytes))) {
    refuse(launch.id, "copies " + std::to_string(bytes) + " bytes between buffers of " + std::to_string(from.bytes) +
                          " and " + std::to_string(to.bytes));
  }
  PreparedLaunch made;
  made.kind = Launch::Kind::kMemcpy;
  made.copy_to = to.address;
  made.copy_from = from.address;
  made.copy_bytes = bytes;
  return made;
}

PreparedLaunch prepare_kernel(const Gpu& gpu, KernelTable& kernels, const ResolvedPlan& plan, const Launch& launch,
                              std::span<const Range> tensors, std::span<const Range> workspaces) {
  PreparedLaunch made;
  made.entry = launch.entry;
  made.function = kernels.prepare(launch);
  kernels.check_arguments(launch, made.function);
  made.attributes = attributes_of(launch);
  made.config = {launch.grid[0],  launch.grid[1],      launch.grid[2], launch.block[0], launch.block[1],
                 launch.block[2], launch.shared_bytes, nullptr,        nullptr,         0};
  bind_arguments(gpu, plan, launch, tensors, workspaces, made);
  return made;
}

}  // namespace

StreamPlan plan_streams(std::span<const std::vector<int>> after) {
  constexpr int kMostStreams = 16;  // more launches in parallel share streams, which only adds order
  StreamPlan plan;
  std::vector<int> tail;  // last launch of each stream
  for (std::size_t i = 0; i < after.size(); ++i) {
    const int launch = static_cast<int>(i);
    int stream = -1;
    for (const int before : after[i]) {  // go on where a launch that this one waits for is the last
      if (stream < 0 && tail[static_cast<std::size_t>(plan.stream[static_cast<std::size_t>(before)])] == before) {
        stream = plan.stream[static_cast<std::size_t>(before)];
      }
    }
    if (stream < 0 && tail.size() < kMostStreams) {
      stream = static_cast<int>(tail.size());
      tail.push_back(-1);
    }
    stream = stream < 0 ? launch % kMostStreams : stream;
    tail[static_cast<std::size_t>(stream)] = launch;
    plan.stream.push_back(stream);
    std::vector<int>& waits = plan.waits.emplace_back();
    for (const int before : after[i]) {
      if (plan.stream[static_cast<std::size_t>(before)] != stream) {
        waits.push_back(before);
      }
    }
  }
  plan.streams = std::max(1, static_cast<int>(tail.size()));
  plan.joins.assign(tail.begin() + (tail.empty() ? 0 : 1), tail.end());
  return plan;
}

int PreparedPlan::operations() const {
  int count = static_cast<int>(zeroed.size()) + 2 * streams + 1;
  for (const PreparedLaunch& launch : launches) {
    count += 3 + static_cast<int>(launch.waits.size());
  }
  return count;
}

namespace {

// A programmatic launch may overlap with the launch before it in its stream. Where that is none of its own plan's, it
// must not: it would start before the window does, or inside another slot's. Where nothing of the plan comes behind it,
// a fence does.
void settle_programmatic_launches(const ResolvedPlan& plan, PreparedPlan& made) {
  std::vector<int> last(static_cast<std::size_t>(made.streams), -1);
  for (std::size_t i = 0; i < made.launches.size(); ++i) {
    int& before = last[static_cast<std::size_t>(made.launches[i].stream)];
    if (before < 0) {
      std::erase_if(made.launches[i].attributes, [](const CUlaunchAttribute& attribute) {
        return attribute.id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
      });
    }
    made.launches[i].is_fenced = plan.launches[i].flags.pdl && before >= 0 && made.launches[i].is_awaited;
    before = static_cast<int>(i);
  }
  for (const int ends : last) {
    if (ends >= 0) {
      const auto at = static_cast<std::size_t>(ends);
      const bool alone = std::ranges::count(made.launches, made.launches[at].stream, &PreparedLaunch::stream) == 1;
      made.launches[at].is_fenced |= plan.launches[at].flags.pdl && !alone;
    }
  }
}

}  // namespace

PreparedPlan prepare_plan(Gpu& gpu, KernelTable& kernels, const ResolvedPlan& plan, std::span<const Range> tensors,
                          std::span<const Range> workspaces) {
  PreparedPlan made;
  for (std::size_t i = 0; i < plan.workspaces.size(); ++i) {
    if (plan.workspaces[i].init == WorkspaceInit::kZero && i < workspaces.size()) {
      made.zeroed.push_back(workspaces[i]);
    }
  }
  std::vector<std::vector<int>> after;
  for (const Launch& launch : plan.launches) {
    for (const int before : launch.after) {
      if (before < 0 || static_cast<std::size_t>(before) >= after.size()) {
        refuse(launch.id, "waits for launch " + std::to_string(before) + ", which is not an earlier one");
      }
    }
    after.push_back(launch.after);
    made.launches.push_back(launch.kind == Launch::Kind::kMemcpy
                                ? prepare_copy(launch, tensors, workspaces)
                                : prepare_kernel(gpu, kernels, plan, launch, tensors, workspaces));
  }
  const StreamPlan streams = plan_streams(after);
  made.joins = streams.joins;
  made.streams = streams.streams;
  for (std::size_t i = 0; i < made.launches.size(); ++i) {
    made.launches[i].stream = streams.stream[i];
    made.launches[i].waits = streams.waits[i];
    for (const int before : streams.waits[i]) {
      made.launches[static_cast<std::size_t>(before)].is_awaited = true;
    }
  }
  for (const int last : streams.joins) {
    made.launches[static_cast<std::size_t>(last)].is_awaited = true;
  }
  settle_programmatic_launches(plan, made);
  return made;
}

void StreamSet::grow(const PreparedPlan& plan) {
  if (plan.streams > 1 && !fork_) {
    fork_ = make_event(gpu_, false);
  }
  while (static_cast<int>(streams_.size()) + 1 < plan.streams) {
    streams_.push_back(make_stream(gpu_));
  }
  while (plan.streams > 1 && done_.size() < plan.launches.size()) {
    done_.push_back(make_event(gpu_, false));
  }
}

void StreamSet::drain(Gpu& gpu, std::chrono::milliseconds deadline) const {
  gpu.wait(deadline);
  for (const Stream& stream : streams_) {
    gpu.wait(stream.get(), deadline);
  }
}

void StreamSet::launch(PreparedLaunch& launch, CUstream stream) const {
  if (launch.kind == Launch::Kind::kMemcpy) {
    gpu_.check(gpu_->cuMemcpyDtoDAsync(launch.copy_to, launch.copy_from, launch.copy_bytes, stream),
               "cuMemcpyDtoDAsync", Stage::kLaunch);
    return;
  }
  launch.config.hStream = stream;
  launch.config.attrs = launch.attributes.data();
  launch.config.numAttrs = static_cast<unsigned int>(launch.attributes.size());
  gpu_.check(gpu_->cuLaunchKernelEx(&launch.config, launch.function, launch.parameters.data(), nullptr),
             "cuLaunchKernelEx", Stage::kLaunch);
  if (launch.is_fenced) {
    CUlaunchConfig config{1, 1, 1, 1, 1, 1, 0, stream, nullptr, 0};
    gpu_.check(gpu_->cuLaunchKernelEx(&config, fence_, nullptr, nullptr), "cuLaunchKernelEx (fence)");
  }
}

void StreamSet::enqueue(PreparedPlan& plan, CUstream main, const std::function<void()>& between) {
  const auto stream_of = [&](int index) {
    return index == 0 ? main : streams_[static_cast<std::size_t>(index) - 1].get();
  };
  const auto join = [&](CUstream stream, int launch) {
    gpu_.check(gpu_->cuStreamWaitEvent(stream, done_[static_cast<std::size_t>(launch)].get(), CU_EVENT_WAIT_DEFAULT),
               "cuStreamWaitEvent");
  };
  for (const Range& range : plan.zeroed) {
    if (range.bytes > 0) {
      gpu_.check(gpu_->cuMemsetD8Async(range.address, 0, static_cast<std::size_t>(range.bytes), main),
                 "cuMemsetD8Async");
    }
  }
  if (plan.streams > 1) {
    gpu_.check(gpu_->cuEventRecord(fork_.get(), main), "cuEventRecord");
    for (int stream = 1; stream < plan.streams; ++stream) {
      gpu_.check(gpu_->cuStreamWaitEvent(stream_of(stream), fork_.get(), CU_EVENT_WAIT_DEFAULT), "cuStreamWaitEvent");
    }
  }
  for (std::size_t i = 0; i < plan.launches.size(); ++i) {
    PreparedLaunch& next = plan.launches[i];
    const CUstream stream = stream_of(next.stream);
    if (between && i > 0) {
      between();
    }
    for (const int before : next.waits) {
      join(stream, before);
    }
    launch(next, stream);
    if (next.is_awaited) {
      gpu_.check(gpu_->cuEventRecord(done_[i].get(), stream), "cuEventRecord");
    }
  }
  for (const int last : plan.joins) {
    join(main, last);
  }
}

}  // namespace kf::cuda
