// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace kf {

template <class T>
using Map = std::map<std::string, T, std::less<>>;
using Bytes = std::vector<std::byte>;

// One reply of a model = one source. Counted from 1 within a run.
struct AttemptId {
  std::int64_t value = 0;
  auto operator<=>(const AttemptId&) const = default;
};

// One tune point of an attempt; 0 is the first (often the only) one.
struct VariantId {
  AttemptId attempt;
  std::int32_t tune = 0;
  auto operator<=>(const VariantId&) const = default;
};

// Names a case within a spec by what it chooses: "time/M=32768,N=256,T=bfloat16".
struct CaseId {
  std::string value;
  auto operator<=>(const CaseId&) const = default;
};

}  // namespace kf
