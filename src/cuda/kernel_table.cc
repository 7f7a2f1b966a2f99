// SPDX-License-Identifier: Apache-2.0
#include "cuda/kernel_table.h"

#include <algorithm>

namespace kf::cuda {
namespace {

[[noreturn]] void refuse(const Launch& launch, const std::string& why) {
  throw Faulted{{DeviceFault::Kind::kLaunchRefused, "kernel " + launch.entry + ": " + why}};
}

}  // namespace

KernelTable::KernelTable(Gpu& gpu, const Build& build) : gpu_(gpu) {
  if (build.cubin.empty()) {
    throw Faulted{{DeviceFault::Kind::kUnsupported, "the build has no cubin for this device, only PTX"}};
  }
  module_ = load_module(gpu, build.cubin.data());
}

KernelTable::Kernel& KernelTable::find(const std::string& entry) {
  if (const auto found = kernels_.find(entry); found != kernels_.end()) {
    return found->second;
  }
  Kernel kernel;
  const CUresult result = gpu_->cuModuleGetFunction(&kernel.function, module_.get(), entry.c_str());
  gpu_.check(result, ("looking for kernel " + entry).c_str(), Stage::kLaunch);
  if (gpu_->cuFuncLoad != nullptr) {  // lazy loading would happen at the launch, and wait for a closed gate
    gpu_.check(gpu_->cuFuncLoad(kernel.function), "cuFuncLoad");
  }
  int local = 0;
  gpu_.check(gpu_->cuFuncGetAttribute(&local, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, kernel.function),
             "cuFuncGetAttribute");
  gpu_.reserve_stack(local);
  return kernels_.emplace(entry, kernel).first->second;
}

CUfunction KernelTable::prepare(const Launch& launch) {
  Kernel& kernel = find(launch.entry);
  const auto set = [&](CUfunction_attribute attribute, int value) {
    gpu_.check(gpu_->cuFuncSetAttribute(kernel.function, attribute, value),
               ("setting up kernel " + launch.entry).c_str(), Stage::kLaunch);
  };
  const int shared = static_cast<int>(launch.shared_bytes);
  if (shared > kernel.dynamic_shared) {
    set(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, shared);
    kernel.dynamic_shared = shared;
  }
  if (launch.flags.non_portable_cluster && !kernel.non_portable) {
    set(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
    kernel.non_portable = true;
  }
  if (const int carveout = launch.flags.carveout.value_or(-1); carveout != kernel.carveout) {
    set(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, carveout);
    kernel.carveout = carveout;
  }
  return kernel.function;
}

void KernelTable::check_arguments(const Launch& launch, CUfunction function) const {
  if (gpu_->cuFuncGetParamInfo == nullptr) {
    return;
  }
  std::size_t count = 0;
  for (;; ++count) {
    std::size_t offset = 0;
    std::size_t size = 0;
    if (gpu_->cuFuncGetParamInfo(function, count, &offset, &size) != CUDA_SUCCESS) {
      break;
    }
    if (count < launch.args.size()) {
      const Arg& arg = launch.args[count];
      const std::size_t given = arg.kind == Arg::Kind::kTensorMap ? sizeof(CUtensorMap)
                                : arg.kind == Arg::Kind::kScalar  ? static_cast<std::size_t>(arg.width)
                                                                  : sizeof(CUdeviceptr);
      if (given != size) {
        refuse(launch, "parameter " + std::to_string(count) + " has " + std::to_string(size) +
                           " bytes, the plan's argument has " + std::to_string(given));
      }
    }
  }
  if (count != launch.args.size()) {
    refuse(launch,
           "takes " + std::to_string(count) + " parameters, the plan gives " + std::to_string(launch.args.size()));
  }
}

}  // namespace kf::cuda
