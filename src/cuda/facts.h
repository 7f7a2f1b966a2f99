// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cuda/gpu.h"

namespace kf::cuda {

// "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx", as NVML writes it.
std::string uuid_text(const CUuuid& uuid);
// "sm_90a": with the architecture-specific features from compute capability 9.0 on.
std::string arch_text(int major, int minor);
// "580.159.04 (CUDA 13.0)"; the first part from the kernel module or NVML, where one tells it.
std::string driver_text(int cuda_version);

// From device attributes; needs no context. Without cluster_slots and rates.
DeviceFacts attribute_facts(const Driver& driver, CUdevice device);
// Clusters that fit on the device with one block, of all the shared memory it may have, on each multiprocessor. Empty
// where it cannot be found out.
std::map<int, int> cluster_slots(const Gpu& gpu, const DeviceFacts& facts);

}  // namespace kf::cuda
