// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace kf::emulator {

// The emulated 64-bit generic address space. Global and constant addresses are generic addresses; shared,
// local and parameter addresses become generic by adding their window's base.
inline constexpr std::uint64_t kGlobalBase = 0x0000'0010'0000'0000;
inline constexpr std::uint64_t kSharedWindow = 0x0000'7f00'0000'0000;  // + cluster rank + 1 in bits 24..29
inline constexpr std::uint64_t kLocalWindow = 0x0000'7f80'0000'0000;
inline constexpr std::uint64_t kParamWindow = 0x0000'7fa0'0000'0000;
inline constexpr std::uint64_t kWindowBytes = std::uint64_t{1} << 32;
// Hopper reserves the first KiB of a block's shared memory.
inline constexpr std::uint32_t kSharedBase = 1024;

// Bytes that device code may touch. `written` is null when every byte has been given a value; else one
// flag a byte, and reading a byte without one is a finding.
struct Region {
  std::uint64_t base = 0, bytes = 0;
  std::byte* data = nullptr;
  std::uint8_t* written = nullptr;
  bool read_only = false;
  std::string name;    // "tensor 2", "workspace 0", "tab"
  bool input = false;  // of a launch: as good as constant to kernels
};

// All regions of global and constant memory, ordered by address; unmapped gaps lie between them.
class GlobalMemory {
 public:
  // An address range of `bytes`, congruent to `misalign` modulo 256, which no later range will share.
  std::uint64_t reserve(std::uint64_t bytes, std::uint64_t misalign);
  Region& add(Region region);
  void remove(std::uint64_t base);
  // The region that holds `address`, or the nearest one below it; null when there is none.
  Region* below(std::uint64_t address);

 private:
  std::map<std::uint64_t, Region> regions_;
  std::uint64_t next_ = kGlobalBase;
};

}  // namespace kf::emulator
