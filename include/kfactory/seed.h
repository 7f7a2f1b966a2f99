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

}  // namespace kf
