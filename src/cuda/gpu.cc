// SPDX-License-Identifier: Apache-2.0
#include "cuda/gpu.h"

#include <algorithm>
#include <thread>

namespace kf::cuda {

DeviceFault::Kind fault_kind(CUresult result, Stage stage) {
  using Kind = DeviceFault::Kind;
  switch (result) {
    case CUDA_ERROR_OUT_OF_MEMORY:
      return Kind::kOutOfMemory;
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_TENSOR_MEMORY_LEAK:
    case CUDA_ERROR_LAUNCH_FAILED:
      return Kind::kIllegalAccess;
    case CUDA_ERROR_LAUNCH_TIMEOUT:
      return Kind::kTimeout;
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
    case CUDA_ERROR_INVALID_IMAGE:
    case CUDA_ERROR_INVALID_SOURCE:
    case CUDA_ERROR_INVALID_PTX:
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
      return Kind::kUnsupported;
    case CUDA_ERROR_INVALID_VALUE:
    case CUDA_ERROR_NOT_FOUND:
    case CUDA_ERROR_NOT_SUPPORTED:
    case CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES:
    case CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE:
    case CUDA_ERROR_INVALID_CLUSTER_SIZE:
      return stage == Stage::kLaunch ? Kind::kLaunchRefused : Kind::kLost;
    default:
      return Kind::kLost;
  }
}

bool leaves_context_unusable(DeviceFault::Kind kind) {
  return kind == DeviceFault::Kind::kIllegalAccess || kind == DeviceFault::Kind::kTimeout ||
         kind == DeviceFault::Kind::kLost;
}

Gpu::Gpu(std::shared_ptr<const Driver> driver, CUdevice device) : driver_(std::move(driver)), device_(device) {
  // Waiting is ours (with a deadline), so the driver's own way of waiting does not matter.
  driver_->cuDevicePrimaryCtxSetFlags(device_, CU_CTX_SCHED_AUTO | CU_CTX_MAP_HOST);
  check(driver_->cuDevicePrimaryCtxRetain(&context_, device_), "cuDevicePrimaryCtxRetain");
  try {
    check(driver_->cuCtxSetCurrent(context_), "cuCtxSetCurrent");
    // No lines of the L2 set aside: nothing that a candidate asks to persist may outlive its launch. Devices without
    // such lines refuse, which is as good.
    driver_->cuCtxSetLimit(CU_LIMIT_PERSISTING_L2_CACHE_SIZE, 0);
    check(driver_->cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  } catch (...) {
    driver_->cuDevicePrimaryCtxRelease(device_);
    throw;
  }
}

Gpu::~Gpu() {
  if (!dead_) {
    driver_->cuStreamDestroy(stream_);
    driver_->cuDevicePrimaryCtxRelease(device_);
  }
}

int Gpu::attribute(CUdevice_attribute attribute) const {
  int value = 0;
  check(driver_->cuDeviceGetAttribute(&value, attribute, device_), "cuDeviceGetAttribute");
  return value;
}

void Gpu::check(CUresult result, const char* call, Stage stage) const {
  if (result == CUDA_SUCCESS) {
    return;
  }
  const char* name = nullptr;
  const char* meaning = nullptr;
  driver_->cuGetErrorName(result, &name);
  driver_->cuGetErrorString(result, &meaning);
  std::string detail = std::string(call) + ": " + (name != nullptr ? name : std::to_string(result));
  if (meaning != nullptr) {
    detail += std::string(", ") + meaning;
  }
  throw Faulted{{fault_kind(result, stage), std::move(detail)}};
}

void Gpu::reserve_stack(int bytes_per_thread) {
  if (bytes_per_thread > stack_bytes_) {
    check(driver_->cuCtxSetLimit(CU_LIMIT_STACK_SIZE, static_cast<std::size_t>(bytes_per_thread)),
          "making room for local memory", Stage::kLaunch);
    stack_bytes_ = bytes_per_thread;
  }
}

// Polls: cuStreamSynchronize has no deadline. Short work is caught while spinning; longer work costs one query every
// 50 microseconds.
void Gpu::wait(CUstream stream, std::chrono::milliseconds deadline) {
  const auto start = std::chrono::steady_clock::now();
  for (;;) {
    const CUresult result = driver_->cuStreamQuery(stream);
    if (result != CUDA_ERROR_NOT_READY) {
      check(result, "waiting for the device");
      return;
    }
    const auto elapsed = std::chrono::steady_clock::now() - start;
    if (elapsed > deadline) {
      dead_ = true;
      throw Faulted{{DeviceFault::Kind::kTimeout,
                     "still running after " + std::to_string(deadline.count()) + " ms, which is the limit"}};
    }
    if (elapsed > std::chrono::microseconds(300)) {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }
}

Event make_event(const Gpu& gpu, bool timed) {
  CUevent event = nullptr;
  gpu.check(gpu->cuEventCreate(&event, timed ? CU_EVENT_DEFAULT : CU_EVENT_DISABLE_TIMING), "cuEventCreate");
  return {gpu, event};
}

Stream make_stream(const Gpu& gpu) {
  CUstream stream = nullptr;
  gpu.check(gpu->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  return {gpu, stream};
}

Memory make_memory(const Gpu& gpu, std::int64_t bytes) {
  CUdeviceptr memory = 0;
  gpu.check(gpu->cuMemAlloc(&memory, static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1))), "cuMemAlloc");
  return {gpu, memory};
}

Module load_module(const Gpu& gpu, const void* image) {
  CUmodule module = nullptr;
  gpu.check(gpu->cuModuleLoadDataEx(&module, image, 0, nullptr, nullptr), "cuModuleLoadDataEx");
  return {gpu, module};
}

}  // namespace kf::cuda
