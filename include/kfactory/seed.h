// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

#include <kfactory/values.h>

namespace kf {

// Drawn once a run from the system's entropy; kept in the ledger, never in a prompt, argument or run.json.
struct RunSecret {
  std::array<std::uint8_t, 32> bytes{};
};

enum class Purpose : std::uint8_t { kAdmit, kCheck, kRepeat, kTime, kConfirm, kPolicy };

// First 8 bytes of SHA-256 over (secret, purpose, variant, case, use): no two uses share contents, and
// nobody without the secret can predict them. Contents are philox(seed, element).
std::uint64_t seed_for(const RunSecret& secret, Purpose purpose, VariantId variant, std::string_view case_id,
                       std::uint64_t use);

// The next word of a splitmix64 sequence (Steele, Lea, Flood, OOPSLA'14); `state` moves on. For orders and streams, not
// for secrets.
inline std::uint64_t splitmix64(std::uint64_t& state) {
  std::uint64_t z = state += 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

}  // namespace kf
