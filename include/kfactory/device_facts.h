// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kf {

// What expressions, limits and estimates need to know of a device. Sent in the worker's hello, or taken
// from the table of named targets when there is no device.
struct DeviceFacts {
  std::string kind;        // "cuda", "emulator", "none", "host"
  std::string uuid, name;  // "NVIDIA H200"
  std::string arch;        // "sm_90a"
  std::string driver;      // "580.159.04 (CUDA 13.0)"
  int sm_count = 0;
  int max_threads_per_block = 1024, max_threads_per_sm = 2048, max_blocks_per_sm = 32, warp_size = 32;
  int registers_per_sm = 65536, registers_per_block = 65536, max_registers_per_thread = 255;
  std::int64_t shared_per_block = 0;  // with opt-in, bytes
  std::int64_t shared_per_sm = 0;
  std::int64_t shared_reserved_per_block = 1024;
  std::int64_t l2_bytes = 0, memory_bytes = 0;
  std::int64_t grid_max_x = 2147483647, grid_max_y = 65535, grid_max_z = 65535;
  int max_cluster = 8;               // 16 with the non-portable attribute on sm_90
  std::map<int, int> cluster_slots;  // cluster size -> clusters resident with one block an SM
  double dram_bytes_per_second = 0;  // calibrated on the device, or the table's figure; 0 = unknown
  double fp32_flops_per_second = 0;
  // For estimates; 0 = unknown.
  double tensor_flops_per_second = 0;  // dense, 16-bit operands
  double sm_hertz = 0;                 // highest clock
  double l2_bytes_per_clock = 0;       // from the L2 to one SM
  double launch_nanoseconds = 0;       // an empty kernel between two events
  std::string source;                  // "device", or "table: ..." with where its figures come from
};

// "H200", "H100", "B200" or an arch ("sm_90a"); nullopt when the table (src/spec/targets.json) has no such target.
std::optional<DeviceFacts> named_target(std::string_view name);
// Every name that named_target knows: products, then architectures, in the table's order.
std::vector<std::string> target_names();

}  // namespace kf
