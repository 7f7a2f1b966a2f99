// SPDX-License-Identifier: Apache-2.0
#include "cuda/cuda_device.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>

#include "cuda/bandwidth.h"
#include "cuda/counters.h"
#include "cuda/disturber.h"
#include "cuda/facts.h"
#include "cuda/gpu_lock.h"
#include "cuda/memory_pool.h"
#include "cuda/timer.h"

namespace kf::cuda {
namespace {

[[noreturn]] void raise(DeviceFault::Kind kind, std::string detail) {
  throw Faulted{{kind, std::move(detail)}};
}

// A disturbed launch has a part of the device, and part of its bandwidth.
constexpr int kDisturbedDeadlines = 4;

// Does the plan have blocks that the hardware must place at the same time?
bool runs_together(const ResolvedPlan& plan) {
  return std::ranges::any_of(plan.launches, [](const Launch& launch) {
    return launch.flags.cooperative || launch.cluster[0] * launch.cluster[1] * launch.cluster[2] > 1;
  });
}

template <class T>
T value_of(OrError<T> value) {
  if (!value) {
    raise(DeviceFault::Kind::kUnsupported, to_string(value.error()));
  }
  return *std::move(value);
}

class CudaDevice final : public Device {
 public:
  CudaDevice(CudaOptions options, std::shared_ptr<const Driver> driver, CUdevice device)
      : options_(std::move(options)), gpu_(driver, device), facts_(attribute_facts(*driver, device)) {
    facts_.cluster_slots = cluster_slots(gpu_, facts_);
  }

  ~CudaDevice() override {
    if (gpu_.dead()) {
      static_cast<void>(recorder_.release());  // flushing would wait for a kernel that never ends
    }
  }

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

void CudaDevice::take_lock() {
  if (!options_.lock || lock_) {
    return;
  }
  const std::string folder = options_.lock_folder.empty() ? lock_folder() : options_.lock_folder;
  auto lock = GpuLock::acquire(folder, facts_.uuid, options_.lock_wait);
  if (!lock) {
    raise(DeviceFault::Kind::kLost, to_string(lock.error()));
  }
  lock_ = std::move(*lock);
}

const DeviceFacts& CudaDevice::calibrate() {
  const auto measured = verb([&] {
    take_lock();
    facts_.dram_bytes_per_second = memory_rate(gpu_);
  });
  if (!measured) {
    facts_.source = "device; bandwidth is not calibrated: " + measured.error().detail;
  }
  return facts_;
}

HarnessKernels& CudaDevice::kernels() {
  if (kernels_ == nullptr) {
    raise(DeviceFault::Kind::kUnsupported, "use_harness() comes first");
  }
  return *kernels_;
}

const Buffer& CudaDevice::at(BufferHandle handle) const {
  const auto found = buffers_.find(handle);
  if (found == buffers_.end()) {
    raise(DeviceFault::Kind::kUnsupported, "no buffer " + std::to_string(static_cast<std::int64_t>(handle)));
  }
  return found->second;
}

const Buffer& CudaDevice::at(BufferHandle handle, const Tensor& tensor) const {
  const Buffer& buffer = at(handle);
  if (buffer.at.bytes < tensor.span_bytes()) {
    raise(DeviceFault::Kind::kUnsupported, tensor.name + " needs " + std::to_string(tensor.span_bytes()) +
                                               " bytes, its buffer has " + std::to_string(buffer.at.bytes));
  }
  return buffer;
}

KernelTable& CudaDevice::module_at(ModuleHandle handle) {
  const auto found = modules_.find(handle);
  if (found == modules_.end()) {
    raise(DeviceFault::Kind::kUnsupported, "no module " + std::to_string(static_cast<std::int64_t>(handle)));
  }
  return found->second;
}

std::vector<Range> CudaDevice::ranges(std::span<const BufferHandle> buffers,
                                      std::span<const std::int64_t> offsets) const {
  if (!offsets.empty() && offsets.size() != buffers.size()) {
    raise(DeviceFault::Kind::kUnsupported, "slice offsets are given for some tensors only");
  }
  std::vector<Range> all;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const Buffer& buffer = at(buffers[i]);
    const std::int64_t offset = offsets.empty() ? 0 : offsets[i];
    if (offset < 0 || offset > buffer.at.bytes) {
      raise(DeviceFault::Kind::kUnsupported, "slice offset " + std::to_string(offset) + " lies outside its buffer");
    }
    all.push_back({buffer.usable() + static_cast<CUdeviceptr>(offset), buffer.at.bytes - offset});
  }
  return all;
}

void CudaDevice::check_range(const Buffer& buffer, std::int64_t offset, std::int64_t bytes) const {
  if (offset < 0 || bytes < 0 || offset > buffer.at.bytes || bytes > buffer.at.bytes - offset) {
    raise(DeviceFault::Kind::kUnsupported, std::to_string(bytes) + " bytes at " + std::to_string(offset) +
                                               " lie outside a buffer of " + std::to_string(buffer.at.bytes));
  }
}

OrFault<void> CudaDevice::use_harness(const Build& harness) {
  return verb([&] {
    take_lock();
    kernels_ = std::make_unique<HarnessKernels>(gpu_, harness, facts_.sm_count, facts_.shared_per_block);
    streams_ = std::make_unique<StreamSet>(gpu_, kernels_->find("kf_fence"));
  });
}

OrFault<ModuleHandle> CudaDevice::load(const Build& build) {
  return verb([&] {
    const ModuleHandle handle{next_++};
    modules_.emplace(std::piecewise_construct, std::forward_as_tuple(handle), std::forward_as_tuple(gpu_, build));
    return handle;
  });
}

void CudaDevice::unload(ModuleHandle module) {
  // CUPTI seems to name kernel records by function handle: a handle that the driver gave again after an unload came
  // with the name of the kernel that had it before (seen on an H200, driver 580.159.04). While records are taken,
  // modules stay loaded; the process ends soon.
  if (recorder_ == nullptr) {
    modules_.erase(module);
  }
}

OrFault<BufferHandle> CudaDevice::allocate(const BufferRequest& request) {
  return verb([&] {
    if (request.bytes < 0 || request.misalign < 0 || request.misalign > 255) {
      raise(DeviceFault::Kind::kUnsupported, "a buffer of " + std::to_string(request.bytes) + " bytes, misaligned by " +
                                                 std::to_string(request.misalign) + ": 0 to 255 is allowed");
    }
    Buffer buffer;
    buffer.at = harness::place(request);
    buffer.at.total = MemoryPool::size_class(buffer.at.total);  // all of the block: its end is red zone
    buffer.memory = pool_.take(buffer.at.total);
    const BufferHandle handle{next_++};
    buffers_.emplace(handle, std::move(buffer));
    return handle;
  });
}

void CudaDevice::release(BufferHandle buffer) {
  if (const auto found = buffers_.find(buffer); found != buffers_.end()) {
    pool_.give(std::move(found->second.memory), found->second.at.total);
    buffers_.erase(found);
  }
}

std::int64_t CudaDevice::free_bytes() const {
  std::size_t free = 0;
  std::size_t total = 0;
  if (!gpu_.dead()) {
    gpu_->cuCtxSetCurrent(gpu_.context());
    gpu_->cuMemGetInfo(&free, &total);
  }
  return static_cast<std::int64_t>(free) + pool_.idle_bytes();
}

OrFault<void> CudaDevice::poison(BufferHandle buffer, std::uint64_t seed) {
  return verb([&] { kernels().poison(at(buffer), seed); });
}

OrFault<void> CudaDevice::poison_red_zones(BufferHandle buffer, std::uint64_t seed) {
  return verb([&] { kernels().poison_red_zones(at(buffer), seed); });
}

OrFault<void> CudaDevice::settle() {
  return verb([&] { gpu_.wait(kOwnDeadline); });
}

OrFault<void> CudaDevice::zero(BufferHandle buffer) {
  return verb([&] {
    const Buffer& zeroed = at(buffer);
    if (zeroed.at.bytes > 0) {
      gpu_.check(gpu_->cuMemsetD8Async(zeroed.usable(), 0, static_cast<std::size_t>(zeroed.at.bytes), gpu_.stream()),
                 "cuMemsetD8Async");
    }
  });
}

OrFault<void> CudaDevice::fill(BufferHandle buffer, const Tensor& tensor, const TensorFill& fill) {
  return verb([&] {
    const Buffer& filled = at(buffer, tensor);
    const harness::Layout layout = value_of(harness::layout_of(tensor));
    if (!tensor.values.empty()) {
      kernels().scatter(filled, layout, value_of(harness::encoded_values(tensor)));
      return;
    }
    const auto family = family_from_string(fill.family);
    if (!family) {
      raise(DeviceFault::Kind::kUnsupported, tensor.name + ": no family is called \"" + fill.family + "\"");
    }
    kernels().fill(filled, layout, *family, fill.seed);
  });
}

OrFault<void> CudaDevice::write(BufferHandle buffer, std::int64_t offset, std::span<const std::byte> bytes) {
  return verb([&] {
    const Buffer& to = at(buffer);
    check_range(to, offset, static_cast<std::int64_t>(bytes.size()));
    if (!bytes.empty()) {
      gpu_.check(gpu_->cuMemcpyHtoDAsync(to.usable() + static_cast<CUdeviceptr>(offset), bytes.data(), bytes.size(),
                                         gpu_.stream()),
                 "cuMemcpyHtoDAsync");
    }
    gpu_.wait(kOwnDeadline);
  });
}

OrFault<Bytes> CudaDevice::read(BufferHandle buffer, std::int64_t offset, std::int64_t bytes) {
  return verb([&] {
    const Buffer& from = at(buffer);
    check_range(from, offset, bytes);
    Bytes found(static_cast<std::size_t>(bytes));
    if (bytes > 0) {
      gpu_.check(gpu_->cuMemcpyDtoHAsync(found.data(), from.usable() + static_cast<CUdeviceptr>(offset), found.size(),
                                         gpu_.stream()),
                 "cuMemcpyDtoHAsync");
    }
    gpu_.wait(kOwnDeadline);
    return found;
  });
}

OrFault<ContentDigest> CudaDevice::digest(BufferHandle buffer) {
  return verb([&] { return kernels().digest(at(buffer)); });
}

OrFault<std::int64_t> CudaDevice::red_zone_damage(BufferHandle buffer, std::uint64_t seed) {
  return verb([&] { return kernels().red_zone_damage(at(buffer), seed); });
}

OrFault<std::int64_t> CudaDevice::padding_damage(BufferHandle buffer, const Tensor& tensor, std::uint64_t seed) {
  return verb([&] { return kernels().padding_damage(at(buffer, tensor), value_of(harness::layout_of(tensor)), seed); });
}

OrFault<std::int64_t> CudaDevice::nonzero_bytes(BufferHandle buffer) {
  return verb([&] { return kernels().nonzero_bytes(at(buffer)); });
}

OrFault<Mismatch> CudaDevice::compare(const CompareRequest& request) {
  return verb([&] {
    const Buffer& out = at(request.out, *request.tensor);
    const harness::ComparePlan plan = value_of(harness::plan_comparison(request, out.at));
    const Buffer& reference = at(request.ref);
    check_range(reference, 0, 8 * plan.of.elements);
    CUdeviceptr condition = 0;
    if (request.has_condition) {
      check_range(at(request.condition), 0, 8 * plan.of.elements);
      condition = at(request.condition).usable();
    }
    Mismatch mismatch = kernels().compare(plan, out, reference.usable(), condition);
    mismatch.output = request.tensor->name;
    return mismatch;
  });
}

OrFault<std::int64_t> CudaDevice::differing_elements(BufferHandle a, BufferHandle b, const Tensor& tensor) {
  return verb(
      [&] { return kernels().differing_elements(at(a, tensor), at(b, tensor), value_of(harness::layout_of(tensor))); });
}

OrFault<void> CudaDevice::run(ModuleHandle module, const ResolvedPlan& plan, std::span<const BufferHandle> tensors,
                              std::span<const BufferHandle> workspaces,
                              std::span<const std::int64_t> slice_offsets_bytes) {
  return verb([&] {
    kernels();  // the fence is one of them
    PreparedPlan prepared =
        prepare_plan(gpu_, module_at(module), plan, ranges(tensors, slice_offsets_bytes), ranges(workspaces, {}));
    streams_->grow(prepared);
    gpu_.wait(kOwnDeadline);  // what is queued is ours and has its own deadline
    try {
      streams_->enqueue(prepared, gpu_.stream());
    } catch (const Faulted& faulted) {
      if (!leaves_context_unusable(faulted.fault.kind)) {
        streams_->drain(gpu_, launch_deadline_);
      }
      throw;
    }
    gpu_.wait(launch_deadline_);
  });
}

Timer& CudaDevice::timer() {
  if (timer_ == nullptr) {
    timer_ = std::make_unique<Timer>(gpu_, kernels(), *streams_, facts_.l2_bytes);
  }
  return *timer_;
}

OrFault<Map<double>> CudaDevice::count(const CountRequest& request) {
  return verb([&] {
    recorder_.reset();  // CUPTI serves one of them at a time
    if (counter_ == nullptr || counted_ != request.metrics) {
      counter_.reset();
      counter_ = value_of(RangeCounter::open(gpu_, options_.toolkit, request.metrics));
      counted_ = request.metrics;
    }
    const std::vector<Range> tensors = ranges(request.slot.tensors, {});
    PreparedPlan prepared = prepare_plan(gpu_, module_at(request.slot.module), *request.slot.plan, tensors,
                                         ranges(request.slot.workspaces, {}));
    streams_->grow(prepared);
    const auto prepare = [&] {
      if (const auto renewed = request.before_pass(); !renewed) {
        throw Faulted{renewed.error()};
      }
      timer().prepare_cache(request.state, tensors);
      gpu_.wait(kOwnDeadline);
    };
    return value_of(counter_->count(prepare, [&] {
      streams_->enqueue(prepared, gpu_.stream());
      gpu_.wait(kDisturbedDeadlines * launch_deadline_);
    }));
  });
}

OrFault<void> CudaDevice::run_disturbed(ModuleHandle module, const ResolvedPlan& plan,
                                        std::span<const BufferHandle> tensors, std::span<const BufferHandle> workspaces,
                                        const Disturbance& disturbance) {
  return verb([&] {
    if (disturber_ == nullptr) {
      disturber_ = std::make_unique<Disturber>(gpu_, kernels());
    }
    PreparedPlan prepared = prepare_plan(gpu_, module_at(module), plan, ranges(tensors, {}), ranges(workspaces, {}));
    streams_->grow(prepared);
    gpu_.wait(kOwnDeadline);  // the device must be idle before its multiprocessors are held
    const auto deadline = kDisturbedDeadlines * launch_deadline_;
    try {
      disturber_->during(disturbance, {runs_together(plan), prepared.operations(), deadline},
                         [&](const auto& between) { streams_->enqueue(prepared, gpu_.stream(), between); });
    } catch (const Faulted& faulted) {
      if (!leaves_context_unusable(faulted.fault.kind)) {
        streams_->drain(gpu_, deadline);
      }
      throw;
    }
  });
}

OrFault<std::vector<Sample>> CudaDevice::time(const TimedBatch& batch) {
  return verb([&] {
    if (batch.method == ClockMethod::kEstimate || batch.method == ClockMethod::kHost) {
      raise(DeviceFault::Kind::kUnsupported,
            "this device has events, graph and cupti clocks, not \"" + std::string(to_string(batch.method)) + "\"");
    }
    if (batch.method == ClockMethod::kCupti && recorder_ == nullptr) {
      recorder_ = value_of(ActivityRecorder::open(options_.toolkit));
    } else if (batch.method != ClockMethod::kCupti) {
      recorder_.reset();  // it would slow the launches down
    }
    std::vector<TimedSlot> slots;
    for (const Slot& slot : batch.slots) {
      std::vector<Range> tensors = ranges(slot.tensors, {});
      PreparedPlan plan = prepare_plan(gpu_, module_at(slot.module), *slot.plan, tensors, ranges(slot.workspaces, {}));
      slots.push_back({slot.arm, std::move(plan), std::move(tensors)});
    }
    try {
      return timer().time(slots, batch.state, batch.method, launch_deadline_, recorder_.get());
    } catch (const Faulted& faulted) {
      if (!leaves_context_unusable(faulted.fault.kind)) {
        streams_->drain(gpu_, launch_deadline_ * static_cast<int>(slots.size() + 1));
      }
      throw;
    }
  });
}

OrFault<void> CudaDevice::scrub_shared(std::uint64_t seed) {
  return verb([&] { kernels().scrub_shared(seed); });
}

}  // namespace
}  // namespace kf::cuda

namespace kf {

OrFault<std::unique_ptr<Device>> open_cuda_device(const CudaOptions& options) {
  const auto lost = [](std::string detail) {
    return std::unexpected(DeviceFault{DeviceFault::Kind::kLost, std::move(detail)});
  };
  setenv("CUDA_MODULE_LOADING", "EAGER", 0);  // lazily loaded kernels would be loaded behind a closed gate
  const auto driver = cuda::open_driver();
  if (!driver) {
    return lost(to_string(driver.error()));
  }
  int count = 0;
  (*driver)->cuDeviceGetCount(&count);
  if (options.ordinal < 0 || options.ordinal >= count) {
    return lost("there is no GPU number " + std::to_string(options.ordinal) + ", " + std::to_string(count) +
                " are visible");
  }
  CUdevice device = 0;
  (*driver)->cuDeviceGet(&device, options.ordinal);
  try {
    return std::make_unique<cuda::CudaDevice>(options, *driver, device);
  } catch (const cuda::Faulted& faulted) {
    return std::unexpected(faulted.fault);
  }
}

}  // namespace kf
