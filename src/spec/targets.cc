// SPDX-License-Identifier: Apache-2.0
#include <kfactory/device_facts.h>

#include <algorithm>
#include <array>

namespace kf {
namespace {

constexpr std::int64_t kKiB = 1024, kMiB = 1024 * kKiB, kGiB = 1024 * kMiB;

struct Target {
  std::string_view name, arch, full_name;
  int sm_count, max_threads_per_sm, max_blocks_per_sm, max_cluster;
  std::int64_t shared_per_block, shared_per_sm, l2_bytes, memory_bytes;
  double dram_bytes_per_second, fp32_flops_per_second;
  std::string_view source;
};

constexpr std::string_view kGuide =
    "limits per SM and block: CUDA C++ Programming Guide, Compute Capabilities; SMs, memory, bandwidth and fp32 rate: ";

// Peak figures of the vendor, not measured ones: floors computed from them are lower bounds. A plain copy reaches 4.3
// of the H200's 4.8 TB/s.
constexpr std::array<Target, 8> kTargets{{
    {"H200", "sm_90a", "NVIDIA H200", 132, 2048, 32, 16, 227 * kKiB, 228 * kKiB, 60 * kMiB, 141'000'000'000, 4.8e12,
     66.9e12, "NVIDIA H200 datasheet; L2: the device's own answer (62914560)"},
    {"H100", "sm_90a", "NVIDIA H100 SXM5", 132, 2048, 32, 16, 227 * kKiB, 228 * kKiB, 50 * kMiB, 80 * kGiB, 3.35e12,
     66.9e12, "NVIDIA H100 datasheet and Hopper architecture white paper"},
    {"B200", "sm_100a", "NVIDIA B200", 148, 2048, 32, 16, 227 * kKiB, 228 * kKiB, 126 * kMiB, 180'000'000'000, 8.0e12,
     75e12,
     "NVIDIA DGX B200 datasheet (one of eight GPUs), Blackwell tuning guide; L2 as commonly reported by the device"},
    {"B300", "sm_103a", "NVIDIA B300", 148, 2048, 32, 16, 227 * kKiB, 228 * kKiB, 126 * kMiB, 268'000'000'000, 8.0e12,
     75e12, "NVIDIA DGX B300 datasheet (one of eight GPUs); SMs and L2 assumed equal to the B200's"},
    {"A100", "sm_80", "NVIDIA A100 SXM4 80GB", 108, 2048, 32, 1, 163 * kKiB, 164 * kKiB, 40 * kMiB, 80 * kGiB, 2.039e12,
     19.5e12, "NVIDIA A100 datasheet"},
    {"A10", "sm_86", "NVIDIA A10", 72, 1536, 16, 1, 99 * kKiB, 100 * kKiB, 6 * kMiB, 24 * kGiB, 600e9, 31.2e12,
     "NVIDIA A10 datasheet"},
    {"L40S", "sm_89", "NVIDIA L40S", 142, 1536, 24, 1, 99 * kKiB, 100 * kKiB, 96 * kMiB, 48 * kGiB, 864e9, 91.6e12,
     "NVIDIA L40S datasheet; L2: Ada architecture white paper (full AD102)"},
    {"RTX5090", "sm_120a", "NVIDIA GeForce RTX 5090", 170, 1536, 24, 8, 99 * kKiB, 100 * kKiB, 96 * kMiB, 32 * kGiB,
     1.792e12, 104.8e12, "NVIDIA RTX Blackwell architecture white paper"},
}};

// Which product stands for an architecture that a spec names.
constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kArchs{{{"sm_80", "A100"},
                                                                                {"sm_86", "A10"},
                                                                                {"sm_87", "A10"},
                                                                                {"sm_89", "L40S"},
                                                                                {"sm_90", "H200"},
                                                                                {"sm_90a", "H200"},
                                                                                {"sm_100", "B200"},
                                                                                {"sm_100a", "B200"},
                                                                                {"sm_103", "B300"},
                                                                                {"sm_103a", "B300"},
                                                                                {"sm_120", "RTX5090"},
                                                                                {"sm_120a", "RTX5090"}}};

// The number of SMs in a GPC differs from chip to chip; this assumes six GPCs of 16 SMs and two of 18, which gives
// 132. The device's own answer replaces it where there is a device.
std::map<int, int> hopper_clusters() {
  return {{1, 132}, {2, 66}, {4, 32}, {8, 16}, {16, 8}};
}

DeviceFacts facts_of(const Target& target) {
  DeviceFacts facts;
  facts.kind = "none";
  facts.name = target.full_name;
  facts.arch = target.arch;
  facts.sm_count = target.sm_count;
  facts.max_threads_per_sm = target.max_threads_per_sm;
  facts.max_blocks_per_sm = target.max_blocks_per_sm;
  facts.max_cluster = target.max_cluster;
  facts.shared_per_block = target.shared_per_block;
  facts.shared_per_sm = target.shared_per_sm;
  facts.l2_bytes = target.l2_bytes;
  facts.memory_bytes = target.memory_bytes;
  facts.dram_bytes_per_second = target.dram_bytes_per_second;
  facts.fp32_flops_per_second = target.fp32_flops_per_second;
  facts.source = "table: " + std::string(kGuide) + std::string(target.source);
  if (target.sm_count == 132) {
    facts.cluster_slots = hopper_clusters();
    facts.source += "; resident clusters assume six GPCs of 16 SMs and two of 18";
  }
  return facts;
}

}  // namespace

std::optional<DeviceFacts> named_target(std::string_view name) {
  const auto* arch = std::ranges::find(kArchs, name, &std::pair<std::string_view, std::string_view>::first);
  const std::string_view product = arch != kArchs.end() ? arch->second : name;
  const auto* target = std::ranges::find(kTargets, product, &Target::name);
  if (target == kTargets.end()) {
    return std::nullopt;
  }
  DeviceFacts facts = facts_of(*target);
  if (arch != kArchs.end()) {
    facts.arch = name;  // "sm_90" asks for code without the features of sm_90a
    if (name == "sm_87") {
      facts.source += "; sm_87 stands in with the A10's figures, except shared memory";
      facts.shared_per_block = 163 * kKiB;
      facts.shared_per_sm = 164 * kKiB;
    }
  }
  return facts;
}

}  // namespace kf
