// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cuda/counters.h"
#include "cuda/cuda_device.h"
#include "cuda/disturber.h"
#include "cuda/gpu_lock.h"
#include "cuda/memory_pool.h"
#include "cuda/timer.h"

namespace kf::cuda {

// A verb that cannot be done: its fault.
[[noreturn]] inline void raise(DeviceFault::Kind kind, std::string detail) {
  throw Faulted{{kind, std::move(detail)}};
}

// The value, or the fault "unsupported" with the error's words.
template <class T>
T value_of(OrError<T> value) {
  if (!value) {
    raise(DeviceFault::Kind::kUnsupported, to_string(value.error()));
  }
  return *std::move(value);
}

// The verbs of Device on one GPU. cuda_contents.cc: buffers and what is in them; cuda_device.cc: the rest.
class CudaDevice final : public Device {
 public:
  CudaDevice(CudaOptions options, std::shared_ptr<const Driver> driver, CUdevice device);
  ~CudaDevice() override;

  const DeviceFacts& facts() const override { return facts_; }
  const DeviceFacts& calibrate() override;
  OrFault<void> use_harness(const Build& harness) override;
  void set_launch_deadline(std::chrono::milliseconds deadline) override { launch_deadline_ = deadline; }

  OrFault<ModuleHandle> load(const Build& build) override;
  void unload(ModuleHandle module) override;
  OrFault<BufferHandle> allocate(const BufferRequest& request) override;
  void release(BufferHandle buffer) override;
  std::int64_t free_bytes() const override;

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
                    std::span<const BufferHandle> workspaces,
                    std::span<const std::int64_t> slice_offsets_bytes) override;
  OrFault<void> run_disturbed(ModuleHandle module, const ResolvedPlan& plan, std::span<const BufferHandle> tensors,
                              std::span<const BufferHandle> workspaces, const Disturbance& disturbance) override;
  OrFault<std::vector<Sample>> time(const TimedBatch& batch) override;
  OrFault<Map<double>> count(const CountRequest& request) override;
  OrFault<void> scrub_shared(std::uint64_t seed) override;

 private:
  // Runs a verb's body; what it throws becomes the verb's fault.
  template <class Body>
  auto verb(Body body) -> OrFault<decltype(body())> {
    if (gpu_.dead()) {
      return std::unexpected(DeviceFault{DeviceFault::Kind::kLost, "an earlier fault left this device unusable"});
    }
    try {
      gpu_->cuCtxSetCurrent(gpu_.context());
      if constexpr (std::is_void_v<decltype(body())>) {
        body();
        return {};
      } else {
        return body();
      }
    } catch (const Faulted& faulted) {
      if (leaves_context_unusable(faulted.fault.kind)) {
        gpu_.mark_dead();
      }
      return std::unexpected(faulted.fault);
    }
  }

  // Runs what queues a plan. When it throws and the device is alive, a part of the plan may be under way on any stream:
  // all of them are waited for.
  template <class Body>
  auto drained(std::chrono::milliseconds deadline, Body body) -> decltype(body()) {
    try {
      return body();
    } catch (const Faulted& faulted) {
      if (leaves_context_unusable(faulted.fault.kind)) {
        gpu_.mark_dead();  // before anything on it is released
      } else if (!gpu_.dead()) {
        streams_->drain(gpu_, deadline);
      }
      throw;
    } catch (...) {
      if (!gpu_.dead()) {
        streams_->drain(gpu_, deadline);
      }
      throw;
    }
  }

  void take_lock();
  Timer& timer();
  HarnessKernels& kernels();
  const Buffer& at(BufferHandle handle) const;
  const Buffer& at(BufferHandle handle, const Tensor& tensor) const;
  KernelTable& module_at(ModuleHandle handle);
  std::vector<Range> ranges(std::span<const BufferHandle> buffers, std::span<const std::int64_t> offsets) const;
  void check_range(const Buffer& buffer, std::int64_t offset, std::int64_t bytes) const;

  CudaOptions options_;
  std::optional<GpuLock> lock_;  // given back after everything below is gone
  Gpu gpu_;
  DeviceFacts facts_;
  std::chrono::milliseconds launch_deadline_{2'000};
  std::unique_ptr<HarnessKernels> kernels_;
  std::unique_ptr<StreamSet> streams_;
  std::unique_ptr<Timer> timer_;          // made by the first batch: its flush buffer is large
  std::unique_ptr<Disturber> disturber_;  // made by the first disturbed launch
  std::unique_ptr<ActivityRecorder> recorder_;
  std::unique_ptr<RangeCounter> counter_;  // made by the first count, for its metrics
  std::vector<std::string> counted_;
  MemoryPool pool_{gpu_};
  std::map<BufferHandle, Buffer> buffers_;
  std::map<ModuleHandle, KernelTable> modules_;
  std::int64_t next_ = 1;
};

}  // namespace kf::cuda
