// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace kf {

// The element types of FlashInfer-Bench, plus uint8, float64 and float8_e8m0.
enum class Dtype : std::uint8_t {
  kFloat64,
  kFloat32,
  kBfloat16,
  kFloat16,
  kFloat8E4m3fn,
  kFloat8E5m2,
  kFloat8E8m0,
  kInt64,
  kInt32,
  kInt16,
  kInt8,
  kUint8,
  kBool,
};
inline constexpr int kDtypeCount = 13;

std::string_view to_string(Dtype dtype);                        // "bfloat16"
std::optional<Dtype> dtype_from_string(std::string_view name);  // nullopt: no such type
int size_in_bytes(Dtype dtype);
bool is_floating(Dtype dtype);
// Explicit bits of the significand: float32 23, float16 10, bfloat16 7; 0 for integers.
int mantissa_bits(Dtype dtype);

}  // namespace kf
