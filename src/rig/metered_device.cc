// SPDX-License-Identifier: Apache-2.0
#include "rig/metered_device.h"

#include <algorithm>

namespace kf {

template <class Verb>
auto MeteredDevice::during(std::string_view step, Verb&& verb) {
  struct Add {
    MeteredDevice& self;
    std::string_view step;
    std::chrono::steady_clock::time_point start;
    ~Add() {
      auto cost = std::ranges::find(self.costs_, step, &Cost::step);
      if (cost == self.costs_.end()) {
        cost = self.costs_.insert(cost, Cost{std::string(step), 0, 0});
      }
      cost->milliseconds += std::chrono::duration<double, std::milli>(self.clock_.now() - start).count();
      ++cost->count;
    }
  } add{*this, step, clock_.now()};
  return verb();
}

OrFault<void> MeteredDevice::use_harness(const Build& harness) {
  return during("load modules", [&] { return device_.use_harness(harness); });
}
OrFault<ModuleHandle> MeteredDevice::load(const Build& build) {
  return during("load modules", [&] { return device_.load(build); });
}
OrFault<BufferHandle> MeteredDevice::allocate(const BufferRequest& request) {
  return during("allocate", [&] { return device_.allocate(request); });
}
OrFault<void> MeteredDevice::settle() {
  return during("fill and poison", [&] { return device_.settle(); });
}
OrFault<void> MeteredDevice::poison(BufferHandle buffer, std::uint64_t seed) {
  return during("fill and poison", [&] { return device_.poison(buffer, seed); });
}
OrFault<void> MeteredDevice::poison_red_zones(BufferHandle buffer, std::uint64_t seed) {
  return during("fill and poison", [&] { return device_.poison_red_zones(buffer, seed); });
}
OrFault<void> MeteredDevice::zero(BufferHandle buffer) {
  return during("fill and poison", [&] { return device_.zero(buffer); });
}
OrFault<void> MeteredDevice::fill(BufferHandle buffer, const Tensor& tensor, const TensorFill& fill) {
  return during("fill and poison", [&] { return device_.fill(buffer, tensor, fill); });
}
OrFault<void> MeteredDevice::write(BufferHandle buffer, std::int64_t offset, std::span<const std::byte> bytes) {
  return during("fill and poison", [&] { return device_.write(buffer, offset, bytes); });
}
OrFault<Bytes> MeteredDevice::read(BufferHandle buffer, std::int64_t offset, std::int64_t bytes) {
  return during("compare", [&] { return device_.read(buffer, offset, bytes); });
}
OrFault<ContentDigest> MeteredDevice::digest(BufferHandle buffer) {
  return during("digests and red zones", [&] { return device_.digest(buffer); });
}
OrFault<std::int64_t> MeteredDevice::red_zone_damage(BufferHandle buffer, std::uint64_t seed) {
  return during("digests and red zones", [&] { return device_.red_zone_damage(buffer, seed); });
}
OrFault<std::int64_t> MeteredDevice::padding_damage(BufferHandle buffer, const Tensor& tensor, std::uint64_t seed) {
  return during("digests and red zones", [&] { return device_.padding_damage(buffer, tensor, seed); });
}
OrFault<std::int64_t> MeteredDevice::nonzero_bytes(BufferHandle buffer) {
  return during("digests and red zones", [&] { return device_.nonzero_bytes(buffer); });
}
OrFault<Mismatch> MeteredDevice::compare(const CompareRequest& request) {
  return during("compare", [&] { return device_.compare(request); });
}
OrFault<std::int64_t> MeteredDevice::differing_elements(BufferHandle a, BufferHandle b, const Tensor& tensor) {
  return during("compare", [&] { return device_.differing_elements(a, b, tensor); });
}
OrFault<std::vector<Sample>> MeteredDevice::time(const TimedBatch& batch) {
  return during("timed batches", [&] { return device_.time(batch); });
}
OrFault<void> MeteredDevice::scrub_shared(std::uint64_t seed) {
  return during("fill and poison", [&] { return device_.scrub_shared(seed); });
}

void MeteredDevice::unload(ModuleHandle module) {
  during("load modules", [&] { device_.unload(module); });
}
void MeteredDevice::release(BufferHandle buffer) {
  during("allocate", [&] { device_.release(buffer); });
}
OrFault<void> MeteredDevice::run(ModuleHandle module, const ResolvedPlan& plan, std::span<const BufferHandle> tensors,
                                 std::span<const BufferHandle> workspaces, std::span<const std::int64_t> offsets) {
  return during(candidate_ ? "candidate launches" : "reference launches",
                [&] { return device_.run(module, plan, tensors, workspaces, offsets); });
}
OrFault<void> MeteredDevice::run_disturbed(ModuleHandle module, const ResolvedPlan& plan,
                                           std::span<const BufferHandle> tensors,
                                           std::span<const BufferHandle> workspaces, const Disturbance& disturbance) {
  return during("disturbed launches",
                [&] { return device_.run_disturbed(module, plan, tensors, workspaces, disturbance); });
}
OrFault<Map<double>> MeteredDevice::count(const CountRequest& request) {
  return during("counted launches", [&] { return device_.count(request); });
}

}  // namespace kf
