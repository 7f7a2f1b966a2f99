// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <vector>

#include <kfactory/clock.h>
#include <kfactory/device.h>

namespace kf {

// Passes every verb on to a device and adds up the wall time of each kind of work. What a verb only queued is paid for
// by the next one that waits.
class MeteredDevice final : public Device {
 public:
  MeteredDevice(Device& device, const Clock& clock) : device_(device), clock_(clock) {}

  // From now on a launch is the candidate's, or the rig's own (a reference, a baseline).
  void candidate_launches(bool candidate) { candidate_ = candidate; }
  // In the order in which kinds of work first ended. Verbs that took no time worth counting are not left out.
  const std::vector<Cost>& costs() const { return costs_; }

  const DeviceFacts& facts() const override { return device_.facts(); }
  const DeviceFacts& calibrate() override { return device_.calibrate(); }
  OrFault<void> use_harness(const Build& harness) override;
  void set_launch_deadline(std::chrono::milliseconds deadline) override { device_.set_launch_deadline(deadline); }
  OrFault<ModuleHandle> load(const Build& build) override;
  void unload(ModuleHandle module) override;
  OrFault<BufferHandle> allocate(const BufferRequest& request) override;
  void release(BufferHandle buffer) override;
  std::int64_t free_bytes() const override { return device_.free_bytes(); }
  OrFault<void> settle() override;
  OrFault<void> poison(BufferHandle buffer, std::uint64_t seed) override;
  OrFault<void> poison_red_zones(BufferHandle buffer, std::uint64_t seed) override;
  OrFault<void> zero(BufferHandle buffer) override;
  OrFault<void> fill(BufferHandle buffer, const Tensor& tensor, const TensorFill& fill) override;
  OrFault<void> write(BufferHandle buffer, std::int64_t offset, std::span<const std::byte> bytes) override;
  OrFault<Bytes> read(BufferHandle buffer, std::int64_t offset, std::int64_t bytes) override;
  OrFault<ContentDigest> digest(BufferHandle buffer) override;
  OrFault<std::int64_t> red_zone_damage(BufferHandle buffer, std::uint64_t seed) override;
  OrFault<std::int64_t> padding_damage(BufferHandle buffer, const Tensor& tensor, std::uint64_t seed) override;
  OrFault<std::int64_t> nonzero_bytes(BufferHandle buffer) override;
  OrFault<Mismatch> compare(const CompareRequest& request) override;
  OrFault<std::int64_t> differing_elements(BufferHandle a, BufferHandle b, const Tensor& tensor) override;
  OrFault<void> run(ModuleHandle module, const ResolvedPlan& plan, std::span<const BufferHandle> tensors,
                    std::span<const BufferHandle> workspaces, std::span<const std::int64_t> offsets) override;
  OrFault<void> run_disturbed(ModuleHandle module, const ResolvedPlan& plan, std::span<const BufferHandle> tensors,
                              std::span<const BufferHandle> workspaces, const Disturbance& disturbance) override;
  OrFault<Map<double>> count(const CountRequest& request) override;
  OrFault<std::vector<Sample>> time(const TimedBatch& batch) override;
  std::vector<std::vector<LaunchCounts>> launch_counts() const override { return device_.launch_counts(); }
  OrFault<void> scrub_shared(std::uint64_t seed) override;

 private:
  template <class Verb>
  auto during(std::string_view step, Verb&& verb);

  Device& device_;
  const Clock& clock_;
  bool candidate_ = false;
  std::vector<Cost> costs_;
};

}  // namespace kf
