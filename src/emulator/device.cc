// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <optional>

#include <kfactory/estimate.h>

#include "buffers.h"
#include "emulator.h"
#include "launcher.h"
#include "program.h"
#include "ptx.h"

namespace kf {
namespace emulator {
namespace {

DeviceFault unsupported(const Error& error) {
  return {DeviceFault::Kind::kUnsupported, to_string(error)};
}

class EmulatorDevice final : public Device {
 public:
  EmulatorDevice(const DeviceFacts& target, const EmulatorOptions& options)
      : facts_(target),
        options_(options),
        buffers_(memory_),
        draws_(options.seed),
        crew_(options.threads != 0 ? options.threads : std::thread::hardware_concurrency()) {
    facts_.kind = "emulator";
    facts_.uuid = "emulator";
    facts_.driver = "kfactory PTX emulator";
    facts_.memory_bytes = options.memory_bytes;
  }

  const DeviceFacts& facts() const override { return facts_; }
  OrFault<void> use_harness(const Build&) override { return {}; }  // its host side is linked in
  void set_launch_deadline(std::chrono::milliseconds deadline) override { deadline_ = deadline; }

  OrFault<ModuleHandle> load(const Build& build) override {
    auto parsed = parse_ptx(build.ptx);
    if (!parsed) return std::unexpected(unsupported(parsed.error()));
    auto program = decode(*parsed, memory_);
    if (!program) return std::unexpected(unsupported(program.error()));
    const std::int64_t handle = next_module_++;
    Program& kept = modules_.emplace(handle, *std::move(program)).first->second;
    for (const Region& region : kept.regions) memory_.add(region);
    return ModuleHandle{handle};
  }
  void unload(ModuleHandle module) override {
    const auto found = modules_.find(static_cast<std::int64_t>(module));
    if (found == modules_.end()) return;
    for (const Region& region : found->second.regions) memory_.remove(region.base);
    modules_.erase(found);
  }

  OrFault<BufferHandle> allocate(const BufferRequest& request) override {
    if (request.bytes + 1024 > free_bytes())
      return std::unexpected(
          DeviceFault{DeviceFault::Kind::kOutOfMemory,
                      std::to_string(request.bytes) + " bytes, " + std::to_string(free_bytes()) + " are free"});
    return buffers_.allocate(request);
  }
  void release(BufferHandle buffer) override { buffers_.release(buffer); }
  std::int64_t free_bytes() const override { return options_.memory_bytes - buffers_.used(); }

  OrFault<void> poison(BufferHandle handle, std::uint64_t seed) override {
    Buffer& buffer = buffers_.at(handle);
    harness::poison(buffer.all(), seed);
    buffers_.forget_values(buffer);
    return {};
  }
  OrFault<void> zero(BufferHandle handle) override {
    std::ranges::fill(buffers_.at(handle).usable(), std::byte{0});
    buffers_.all_have_values(buffers_.at(handle));
    return {};
  }
  OrFault<void> fill(BufferHandle handle, const Tensor& tensor, const TensorFill& contents) override {
    Buffer& buffer = buffers_.at(handle);
    if (auto filled = harness::fill(buffer.usable(), tensor, contents); !filled)
      return std::unexpected(unsupported(filled.error()));
    buffers_.all_have_values(buffer);
    return {};
  }
  OrFault<void> write(BufferHandle handle, std::int64_t offset, std::span<const std::byte> bytes) override {
    Buffer& buffer = buffers_.at(handle);
    if (auto inside = check_range(buffer, offset, static_cast<std::int64_t>(bytes.size())); !inside) return inside;
    std::ranges::copy(bytes, buffer.usable().subspan(static_cast<std::size_t>(offset)).begin());
    std::fill_n(buffer.written.begin() + offset, bytes.size(), std::uint8_t{1});
    return {};
  }
  OrFault<Bytes> read(BufferHandle handle, std::int64_t offset, std::int64_t bytes) override {
    Buffer& buffer = buffers_.at(handle);
    if (auto inside = check_range(buffer, offset, bytes); !inside) return std::unexpected(inside.error());
    const auto part = buffer.usable().subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(bytes));
    return Bytes(part.begin(), part.end());
  }

  OrFault<ContentDigest> digest(BufferHandle handle) override { return harness::digest(buffers_.at(handle).all()); }
  OrFault<std::int64_t> red_zone_damage(BufferHandle handle, std::uint64_t seed) override {
    Buffer& buffer = buffers_.at(handle);
    return harness::red_zone_damage(buffer.all(), buffer.at, seed);
  }
  OrFault<std::int64_t> padding_damage(BufferHandle handle, const Tensor& tensor, std::uint64_t seed) override {
    Buffer& buffer = buffers_.at(handle);
    return value_of(harness::padding_damage(buffer.all(), buffer.at, tensor, seed));
  }
  OrFault<std::int64_t> nonzero_bytes(BufferHandle handle) override {
    return harness::nonzero_bytes(buffers_.at(handle).usable());
  }
  OrFault<Mismatch> compare(const CompareRequest& request) override {
    Buffer& out = buffers_.at(request.out);
    auto plan = harness::plan_comparison(request, out.at);
    if (!plan) return std::unexpected(unsupported(plan.error()));
    auto numbers = [&](BufferHandle handle) {
      const auto bytes = buffers_.at(handle).usable();
      return std::span(reinterpret_cast<const double*>(bytes.data()), bytes.size() / sizeof(double));
    };
    return harness::compare(*plan, out.all(), numbers(request.ref),
                            request.has_condition ? numbers(request.condition) : std::span<const double>());
  }
  OrFault<std::int64_t> differing_elements(BufferHandle a, BufferHandle b, const Tensor& tensor) override {
    return value_of(harness::differing_elements(buffers_.at(a).usable(), buffers_.at(b).usable(), tensor));
  }

  OrFault<void> run(ModuleHandle module, const ResolvedPlan& plan, std::span<const BufferHandle> tensors,
                    std::span<const BufferHandle> workspaces, std::span<const std::int64_t> slice_offsets) override {
    auto done = carry_out(module, plan, tensors, workspaces, slice_offsets, false);
    if (!done) return std::unexpected(done.error());
    return {};
  }
  // Another schedule than any undisturbed launch has, fewer blocks at once, shorter turns: what another load of the
  // device would change.
  OrFault<void> run_disturbed(ModuleHandle module, const ResolvedPlan& plan, std::span<const BufferHandle> tensors,
                              std::span<const BufferHandle> workspaces, const Disturbance& disturbance) override {
    draws_ ^= disturbance.seed;
    auto done = carry_out(module, plan, tensors, workspaces, {}, false, &disturbance);
    if (!done) return std::unexpected(done.error());
    return {};
  }
  OrFault<std::vector<Sample>> time(const TimedBatch& batch) override {
    std::vector<Sample> samples;
    counts_.clear();
    for (std::size_t n = 0; n < batch.slots.size(); ++n) {
      const kf::Slot& slot = batch.slots[n];
      auto done = carry_out(slot.module, *slot.plan, slot.tensors, slot.workspaces, {}, true);
      if (!done) return std::unexpected(done.error());
      samples.push_back({slot.arm, 0, static_cast<std::int32_t>(n), estimate(*done, facts_).total, 0});
      counts_.push_back(*std::move(done));
    }
    return samples;
  }
  std::vector<std::vector<LaunchCounts>> launch_counts() const override { return counts_; }
  OrFault<void> scrub_shared(std::uint64_t seed) override {  // every block starts with shared memory that has no value
    draws_ ^= seed;
    return {};
  }

 private:
  OrFault<std::vector<LaunchCounts>> carry_out(ModuleHandle module, const ResolvedPlan& plan,
                                               std::span<const BufferHandle> tensors,
                                               std::span<const BufferHandle> workspaces,
                                               std::span<const std::int64_t> slice_offsets, bool profile,
                                               const Disturbance* disturbance = nullptr) {
    const auto found = modules_.find(static_cast<std::int64_t>(module));
    if (found == modules_.end())
      return std::unexpected(DeviceFault{DeviceFault::Kind::kLaunchRefused, "the module is not loaded"});
    std::vector<LaunchCounts> memsets;
    for (std::size_t w = 0; w < workspaces.size(); ++w) {
      if (plan.workspaces[w].init != WorkspaceInit::kZero) continue;
      if (auto cleared = zero(workspaces[w]); !cleared) return std::unexpected(cleared.error());
      if (profile) memsets.push_back(bytes_moved("memset", plan.workspaces[w].bytes, facts_));
    }
    PlanRun run;
    run.program = &found->second;
    run.plan = &plan;
    run.tensors = tensors;
    run.workspaces = workspaces;
    run.slice_offsets = slice_offsets;
    run.seed = ++draws_;
    run.step_budget =
        options_.step_budget != 0
            ? options_.step_budget
            : static_cast<std::uint64_t>(std::max<std::int64_t>(deadline_.count(), 1)) * kStepsPerMillisecond;
    run.profile = profile;
    run.disturbance = disturbance;
    run.crew = &crew_;
    auto done = run_plan(run, buffers_, memory_, facts_);
    if (done) done->insert(done->begin(), memsets.begin(), memsets.end());
    return done;
  }
  static OrFault<void> check_range(Buffer& buffer, std::int64_t offset, std::int64_t bytes) {
    if (offset < 0 || bytes < 0 || offset > buffer.at.bytes || bytes > buffer.at.bytes - offset)
      return std::unexpected(DeviceFault{DeviceFault::Kind::kLaunchRefused, "a transfer outside the buffer"});
    return {};
  }
  template <class T>
  static OrFault<T> value_of(OrError<T> result) {
    if (!result) return std::unexpected(unsupported(result.error()));
    return *std::move(result);
  }

  DeviceFacts facts_;
  EmulatorOptions options_;
  GlobalMemory memory_;
  Buffers buffers_;
  std::map<std::int64_t, Program> modules_;
  std::int64_t next_module_ = 1;
  std::uint64_t draws_;
  std::vector<std::vector<LaunchCounts>> counts_;  // of the last timed batch
  Crew crew_;
  std::chrono::milliseconds deadline_{60'000};
};

}  // namespace
}  // namespace emulator

OrFault<std::unique_ptr<Device>> open_emulator_device(const DeviceFacts& target, EmulatorOptions options) {
  return std::make_unique<emulator::EmulatorDevice>(target, options);
}

}  // namespace kf
