// SPDX-License-Identifier: Apache-2.0
#include "cuda/cuda_device.h"

#include <algorithm>
#include <cstdlib>

#include "cuda/bandwidth.h"
#include "cuda/cuda_verbs.h"
#include "cuda/facts.h"

namespace kf::cuda {
namespace {

// A disturbed launch has a part of the device, and part of its bandwidth.
constexpr int kDisturbedDeadlines = 4;

// The driver spreads streams over eight queues; work of a plan in the queue of the kernel that holds multiprocessors
// would wait for it.
constexpr int kMostStreamsBesideAHold = 6;

// Does the plan have blocks that the hardware must place at the same time?
bool runs_together(const ResolvedPlan& plan) {
  return std::ranges::any_of(plan.launches, [](const Launch& launch) {
    return launch.flags.cooperative || launch.cluster[0] * launch.cluster[1] * launch.cluster[2] > 1;
  });
}

}  // namespace

CudaDevice::CudaDevice(CudaOptions options, std::shared_ptr<const Driver> driver, CUdevice device)
    : options_(std::move(options)), gpu_(driver, device), facts_(attribute_facts(*driver, device)) {
  facts_.cluster_slots = cluster_slots(gpu_, facts_);
}

CudaDevice::~CudaDevice() {
  if (gpu_.dead()) {
    static_cast<void>(recorder_.release());  // flushing would wait for a kernel that never ends
  }
}

void CudaDevice::take_lock() {
  if (!options_.lock || lock_) {
    return;
  }
  const std::string folder = options_.lock_folder.empty() ? lock_folder() : options_.lock_folder;
  auto lock = GpuLock::acquire(folder, facts_.uuid, options_.lock_wait, options_.waits);
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

OrFault<void> CudaDevice::run(ModuleHandle module, const ResolvedPlan& plan, std::span<const BufferHandle> tensors,
                              std::span<const BufferHandle> workspaces,
                              std::span<const std::int64_t> slice_offsets_bytes) {
  return verb([&] {
    kernels();  // the fence is one of them
    PreparedPlan prepared =
        prepare_plan(gpu_, module_at(module), plan, ranges(tensors, slice_offsets_bytes), ranges(workspaces, {}));
    streams_->grow(prepared);
    gpu_.wait(kOwnDeadline);  // what is queued is ours and has its own deadline
    drained(launch_deadline_, [&] { streams_->enqueue(prepared, gpu_.stream()); });
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
      as_ours([&] {
        if (const auto renewed = request.before_pass(); !renewed) {
          throw Faulted{renewed.error()};
        }
        timer().prepare_cache(request.state, tensors);
        gpu_.wait(kOwnDeadline);
      });
    };
    const auto deadline = kDisturbedDeadlines * launch_deadline_;
    // A counter that an exception took out of a pass is in the middle of one.
    std::unique_ptr<RangeCounter> counter = std::move(counter_);
    Map<double> counts = value_of(drained(deadline, [&] {
      return counter->count(prepare, [&] {
        streams_->enqueue(prepared, gpu_.stream());
        gpu_.wait(deadline);
      });
    }));
    counter_ = std::move(counter);
    return counts;
  });
}

OrFault<void> CudaDevice::run_disturbed(ModuleHandle module, const ResolvedPlan& plan,
                                        std::span<const BufferHandle> tensors, std::span<const BufferHandle> workspaces,
                                        const Disturbance& disturbance) {
  return verb([&] {
    if (disturber_ == nullptr) {
      as_ours([&] { disturber_ = std::make_unique<Disturber>(gpu_, kernels()); });
    }
    PreparedPlan prepared = prepare_plan(gpu_, module_at(module), plan, ranges(tensors, {}), ranges(workspaces, {}));
    streams_->grow(prepared);
    // The device must be idle before its multiprocessors are held; what is queued is ours.
    as_ours([&] { gpu_.wait(kOwnDeadline); });
    const auto deadline = kDisturbedDeadlines * launch_deadline_;
    const bool together = runs_together(plan) || streams_->count() > kMostStreamsBesideAHold;
    drained(deadline, [&] {
      disturber_->during(disturbance, {together, prepared.operations(), deadline},
                         [&](const auto& between) { streams_->enqueue(prepared, gpu_.stream(), between); });
    });
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
    return drained(launch_deadline_ * static_cast<int>(slots.size() + 1),
                   [&] { return timer().time(slots, batch.state, batch.method, launch_deadline_, recorder_.get()); });
  });
}

OrFault<void> CudaDevice::scrub_shared(std::uint64_t seed) {
  return verb([&] { kernels().scrub_shared(seed); });
}

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
