// SPDX-License-Identifier: Apache-2.0
#include "kernel_bench.h"

#include <utility>

namespace kf::emulator_test {

KernelBench::KernelBench(const std::string& ptx, EmulatorOptions options) {
  DeviceFacts target;
  target.name = "a made-up Hopper";
  target.arch = "sm_90a";
  target.sm_count = 4;
  target.shared_per_block = 227 << 10;
  target.shared_per_sm = 228 << 10;
  target.dram_bytes_per_second = 4.8e12;
  target.fp32_flops_per_second = 2e12;
  device_ = open_emulator_device(target, options).value();
  Build build;
  build.ptx = ptx;
  auto module = device_->load(build);
  if (module)
    module_ = *module;
  else
    ADD_FAILURE() << module.error().detail;
}

int KernelBench::allocate(std::int64_t bytes, std::int64_t misalign) {
  buffers_.push_back(device_->allocate({bytes, misalign}).value());
  return static_cast<int>(buffers_.size()) - 1;
}

ResolvedPlan KernelBench::plan_of(const std::string& entry, const Shape& shape, int times, bool pdl) {
  ResolvedPlan plan;
  Launch one;
  one.id = one.entry = entry;
  one.grid = {shape.grid.x, shape.grid.y, shape.grid.z};
  one.block = {shape.block.x, shape.block.y, shape.block.z};
  one.cluster = {shape.cluster.x, shape.cluster.y, shape.cluster.z};
  one.shared_bytes = shape.shared;
  one.flags.cooperative = shape.cooperative;
  one.args = std::move(args_);
  args_.clear();
  one.flags.pdl = pdl;
  for (int n = 0; n < times; ++n) {
    plan.launches.push_back(one);
    if (times > 1) plan.launches.back().id += "[" + std::to_string(n) + "]";
    if (n > 0) plan.launches.back().after = {n - 1};
  }
  return plan;
}

OrFault<void> KernelBench::launches(const std::string& entry, const Shape& shape, int times, bool pdl) {
  return device_->run(module_, plan_of(entry, shape, times, pdl), buffers_, {}, {});
}

KernelBench& KernelBench::then(const std::string& entry, const Shape& shape, std::vector<int> after, bool pdl) {
  plan_.launches.push_back(plan_of(entry, shape, 1, pdl).launches[0]);
  plan_.launches.back().after = std::move(after);
  return *this;
}

OrFault<void> KernelBench::run() {
  return device_->run(module_, std::exchange(plan_, {}), buffers_, {}, {});
}

LaunchCounts KernelBench::counts(const std::string& entry, const Shape& shape, double* nanoseconds) {
  const ResolvedPlan plan = plan_of(entry, shape, 1, false);
  TimedBatch batch;
  kf::Slot slot;
  slot.module = module_;
  slot.plan = &plan;
  slot.tensors = buffers_;
  batch.slots = {slot};
  batch.method = ClockMethod::kEstimate;
  const auto samples = device_->time(batch);
  if (!samples) {
    ADD_FAILURE() << samples.error().detail;
    return {};
  }
  if (nanoseconds != nullptr) *nanoseconds = samples->at(0).nanoseconds;
  return device_->launch_counts().at(0).at(0);
}

std::string fault_of(const OrFault<void>& result) {
  return result ? "" : result.error().detail;
}

}  // namespace kf::emulator_test
