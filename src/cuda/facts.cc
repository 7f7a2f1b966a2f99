// SPDX-License-Identifier: Apache-2.0
#include "cuda/facts.h"

#include <algorithm>
#include <fstream>

#include "cuda/nvml.h"

namespace kf::cuda {
namespace {

// A kernel for occupancy questions; the driver compiles it. Newer devices take it as it is.
constexpr const char kProbe[] =
    ".version 7.8\n.target sm_90\n.address_size 64\n.visible .entry kf_probe()\n{\n  ret;\n}\n";

int number(const Driver& driver, CUdevice device, CUdevice_attribute attribute) {
  int value = 0;
  driver.cuDeviceGetAttribute(&value, attribute, device);
  return value;
}

}  // namespace

std::string uuid_text(const CUuuid& uuid) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) {
      text += '-';
    }
    const auto byte = static_cast<unsigned char>(uuid.bytes[i]);
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::string arch_text(int major, int minor) {
  return "sm_" + std::to_string(10 * major + minor) + (major >= 9 ? "a" : "");
}

std::string driver_text(int cuda_version) {
  const std::string cuda =
      "CUDA " + std::to_string(cuda_version / 1000) + "." + std::to_string(cuda_version % 1000 / 10);
  std::string version;
  if (std::ifstream file("/sys/module/nvidia/version"); !std::getline(file, version)) {
    const auto nvml = open_nvml();  // slower, and not always there
    version = nvml ? nvml->driver_version() : "";
  }
  return version.empty() ? cuda : version + " (" + cuda + ")";
}

DeviceFacts attribute_facts(const Driver& driver, CUdevice device) {
  const auto get = [&](CUdevice_attribute attribute) { return number(driver, device, attribute); };
  DeviceFacts facts;
  facts.kind = "cuda";
  facts.source = "device";
  char name[256] = {};
  driver.cuDeviceGetName(name, sizeof name - 1, device);
  facts.name = name;
  CUuuid uuid{};
  driver.cuDeviceGetUuid(&uuid, device);
  facts.uuid = uuid_text(uuid);
  facts.arch =
      arch_text(get(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR), get(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
  facts.driver = driver_text(driver.version);
  facts.sm_count = get(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  facts.max_threads_per_block = get(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  facts.max_threads_per_sm = get(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  facts.max_blocks_per_sm = get(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
  facts.warp_size = get(CU_DEVICE_ATTRIBUTE_WARP_SIZE);
  facts.registers_per_sm = get(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
  facts.registers_per_block = get(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
  facts.shared_per_block = get(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  facts.shared_per_sm = get(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
  facts.shared_reserved_per_block = get(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
  facts.l2_bytes = get(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  std::size_t memory = 0;
  driver.cuDeviceTotalMem(&memory, device);
  facts.memory_bytes = static_cast<std::int64_t>(memory);
  facts.grid_max_x = get(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X);
  facts.grid_max_y = get(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y);
  facts.grid_max_z = get(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z);
  facts.max_cluster = get(CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH) != 0 ? 16 : 1;
  // Two operations a lane and clock; 128 float32 lanes a multiprocessor since sm_86 and on sm_90, 64 on sm_80. The
  // clock attribute is the highest one, so this is a ceiling.
  const double lanes = facts.arch == "sm_80" ? 64.0 : 128.0;
  facts.fp32_flops_per_second = 2.0 * lanes * facts.sm_count * 1e3 * get(CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
  return facts;
}

std::map<int, int> cluster_slots(const Gpu& gpu, const DeviceFacts& facts) {
  std::map<int, int> slots;
  if (facts.max_cluster < 2) {
    return slots;
  }
  CUmodule loaded = nullptr;
  if (gpu->cuModuleLoadDataEx(&loaded, kProbe, 0, nullptr, nullptr) != CUDA_SUCCESS) {
    return slots;  // a driver without its PTX compiler: unknown is better than no device
  }
  const Module module(gpu, loaded);
  CUfunction function = nullptr;
  gpu.check(gpu->cuModuleGetFunction(&function, loaded, "kf_probe"), "cuModuleGetFunction");
  gpu->cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
  gpu->cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                          static_cast<int>(facts.shared_per_block));
  for (const int size : {1, 2, 4, 8, 16}) {
    CUlaunchAttribute cluster{};
    cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    cluster.value.clusterDim.x = static_cast<unsigned>(size);
    cluster.value.clusterDim.y = cluster.value.clusterDim.z = 1;
    CUlaunchConfig config{static_cast<unsigned>(size),
                          1,
                          1,
                          128,
                          1,
                          1,
                          static_cast<unsigned>(facts.shared_per_block),
                          nullptr,
                          &cluster,
                          1};
    int count = 0;
    if (gpu->cuOccupancyMaxActiveClusters(&count, function, &config) == CUDA_SUCCESS && count > 0) {
      slots[size] = count;
    }
  }
  return slots;
}

}  // namespace kf::cuda
