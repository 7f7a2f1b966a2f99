// SPDX-License-Identifier: Apache-2.0
#include "memory.h"

namespace kf::emulator {

std::uint64_t GlobalMemory::reserve(std::uint64_t bytes, std::uint64_t misalign) {
  constexpr std::uint64_t kGap = std::uint64_t{1} << 20;
  const std::uint64_t base = next_ + misalign;
  next_ = (base + bytes + 2 * kGap - 1) / kGap * kGap;
  return base;
}

Region& GlobalMemory::add(Region region) {
  return regions_[region.base] = std::move(region);
}

void GlobalMemory::remove(std::uint64_t base) {
  regions_.erase(base);
}

Region* GlobalMemory::below(std::uint64_t address) {
  auto after = regions_.upper_bound(address);
  return after == regions_.begin() ? nullptr : &std::prev(after)->second;
}

}  // namespace kf::emulator
