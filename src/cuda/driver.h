// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cuda.h>
#include <cudaTypedefs.h>

#include <memory>
#include <span>
#include <string_view>

#include "os/shared_library.h"

namespace kf::cuda {

// Every driver function that we call. The number is the CUDA version whose signature it has: it picks both the type
// (PFN_cuMemAlloc_v3020) and the symbol that the driver returns (cuMemAlloc_v2), so that the two cannot disagree.
// cuda.h's own declarations are not used: its macros would pair a new signature with an old symbol.
#define KF_DRIVER_FUNCTIONS(X)                         \
  X(cuInit, 2000)                                      \
  X(cuDriverGetVersion, 2020)                          \
  X(cuGetErrorName, 6000)                              \
  X(cuGetErrorString, 6000)                            \
  X(cuDeviceGetCount, 2000)                            \
  X(cuDeviceGet, 2000)                                 \
  X(cuDeviceGetName, 2000)                             \
  X(cuDeviceGetAttribute, 2000)                        \
  X(cuDeviceGetUuid, 11040)                            \
  X(cuDeviceTotalMem, 3020)                            \
  X(cuDevicePrimaryCtxRetain, 7000)                    \
  X(cuDevicePrimaryCtxRelease, 11000)                  \
  X(cuDevicePrimaryCtxSetFlags, 11000)                 \
  X(cuCtxSetCurrent, 4000)                             \
  X(cuCtxSetLimit, 3010)                               \
  X(cuCtxResetPersistingL2Cache, 11000)                \
  X(cuMemAlloc, 3020)                                  \
  X(cuMemFree, 3020)                                   \
  X(cuMemGetInfo, 3020)                                \
  X(cuMemHostAlloc, 2020)                              \
  X(cuMemFreeHost, 2000)                               \
  X(cuMemHostGetDevicePointer, 3020)                   \
  X(cuMemcpyHtoDAsync, 3020)                           \
  X(cuMemcpyDtoHAsync, 3020)                           \
  X(cuMemcpyDtoDAsync, 3020)                           \
  X(cuMemsetD8Async, 3020)                             \
  X(cuModuleLoadDataEx, 2010)                          \
  X(cuModuleUnload, 2000)                              \
  X(cuModuleGetFunction, 2000)                         \
  X(cuFuncSetAttribute, 9000)                          \
  X(cuFuncGetAttribute, 2020)                          \
  X(cuLaunchKernelEx, 11060)                           \
  X(cuOccupancyMaxActiveClusters, 11070)               \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessor, 6050) \
  X(cuStreamCreate, 2000)                              \
  X(cuStreamDestroy, 4000)                             \
  X(cuStreamQuery, 2000)                               \
  X(cuStreamWaitEvent, 3020)                           \
  X(cuStreamBeginCapture, 10010)                       \
  X(cuStreamEndCapture, 10000)                         \
  X(cuEventCreate, 2000)                               \
  X(cuEventDestroy, 4000)                              \
  X(cuEventRecord, 2000)                               \
  X(cuEventElapsedTime, 2000)                          \
  X(cuGraphInstantiateWithFlags, 11040)                \
  X(cuGraphDestroy, 10000)                             \
  X(cuGraphExecDestroy, 10000)                         \
  X(cuGraphUpload, 11010)                              \
  X(cuGraphLaunch, 10000)                              \
  X(cuTensorMapEncodeTiled, 12000)

// Null when the driver is older than they are; callers look.
#define KF_OPTIONAL_DRIVER_FUNCTIONS(X) \
  X(cuFuncGetParamInfo, 12040)          \
  X(cuFuncLoad, 12040)

struct Driver {
#define KF_MEMBER(name, version) PFN_##name##_v##version name = nullptr;
  KF_DRIVER_FUNCTIONS(KF_MEMBER)
  KF_OPTIONAL_DRIVER_FUNCTIONS(KF_MEMBER)
#undef KF_MEMBER
  int version = 0;  // 13000: what the driver supports, not what cuda.h was
  SharedLibrary library;
};

// Name and version of each entry, for the test that they ask for the symbols cuda.h means.
struct DriverEntry {
  std::string_view name;    // as asked for: "cuMemAlloc"
  std::string_view symbol;  // what cuda.h's macros make of it: "cuMemAlloc_v2"
  int version = 0;
};
std::span<const DriverEntry> driver_entries();

// Opens libcuda.so.1, fills the table and calls cuInit. The error says what is missing: the library (no driver), a
// function (a driver older than CUDA 12), or a device.
OrError<std::shared_ptr<const Driver>> open_driver();

}  // namespace kf::cuda
