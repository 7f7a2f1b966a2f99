// SPDX-License-Identifier: Apache-2.0
// Integer types twice as wide, and products in them.
#pragma once
#include <cstdint>
#include <type_traits>

namespace kf::emulator {

template <class T>
using U = std::make_unsigned_t<T>;
template <class T>
struct WideOf;
template <>
struct WideOf<std::uint16_t> {
  using type = std::uint32_t;
};
template <>
struct WideOf<std::int16_t> {
  using type = std::int32_t;
};
template <>
struct WideOf<std::uint32_t> {
  using type = std::uint64_t;
};
template <>
struct WideOf<std::int32_t> {
  using type = std::int64_t;
};
__extension__ typedef unsigned __int128 u128;
__extension__ typedef __int128 s128;
template <>
struct WideOf<std::uint64_t> {
  using type = u128;
};
template <>
struct WideOf<std::int64_t> {
  using type = s128;
};
template <class T>
using Wide = typename WideOf<T>::type;

// Unsigned arithmetic wraps; 16-bit operands promote to int, so the product is made unsigned first.
template <class T>
T wrap_mul(T a, T b) {
  return static_cast<T>(std::uint64_t(U<T>(a)) * std::uint64_t(U<T>(b)));
}
template <class T>
T high_mul(T a, T b) {
  return static_cast<T>((Wide<T>(a) * Wide<T>(b)) >> (8 * sizeof(T)));
}

}  // namespace kf::emulator
