// SPDX-License-Identifier: Apache-2.0
#include "atomic_op.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include "floating.h"

namespace kf::emulator {
namespace {

using H = std::uint16_t;
H half_op(H a, H b, Operation op, bool bf) {
  auto wide = [bf](H x) { return bf ? bfloat_to_float(x) : half_to_float(x); };
  const float x = wide(a), y = wide(b);
  if (op == kAdd) return bf ? float_to_bfloat(x + y) : float_to_half(x + y);
  if (x != x && y != y) return kNan16;
  if (x != x) return b;
  if (y != y) return a;
  const bool less = x < y || (x == y && (a & 0x8000) != 0);
  return less == (op == kMin) ? a : b;
}

template <class T>
T integer_op(T old, T b, T c, Operation op) {
  switch (op) {
    case kAnd:
      return T(old & b);
    case kOr:
      return T(old | b);
    case kXor:
      return T(old ^ b);
    case kExch:
      return b;
    case kCas:
      return old == b ? c : old;
    case kAdd:
      return T(std::make_unsigned_t<T>(old) + std::make_unsigned_t<T>(b));
    case kInc:
      return old >= b ? T(0) : T(old + 1);
    case kDec:
      return old == 0 || old > b ? b : T(old - 1);
    case kMin:
      return std::min(old, b);
    default:
      return std::max(old, b);
  }
}

// Global atomics give a NaN of the operand before one in memory, as it is; shared ones a NaN in memory first, made
// quiet (H200).
std::uint64_t add_f64(std::uint64_t old, std::uint64_t b, bool shared_space) {
  const double x = std::bit_cast<double>(old), y = std::bit_cast<double>(b);
  if (x == x && y == y) return std::bit_cast<std::uint64_t>(x + y);
  if (shared_space) return (x != x ? old : b) | std::uint64_t{1} << 51;
  return y != y ? b : old;
}

}  // namespace

std::uint64_t atomic_result(std::uint64_t old, std::uint64_t b, std::uint64_t c, Operation op, Type type,
                            bool shared_space) {
  auto lo = [](std::uint64_t x) { return static_cast<H>(x); };
  auto hi = [](std::uint64_t x) { return static_cast<H>(x >> 16); };
  switch (type) {
    case Type::kB16:
    case Type::kU16:
      return integer_op<std::uint16_t>(lo(old), lo(b), lo(c), op);
    case Type::kS32:
      return static_cast<std::uint32_t>(
          integer_op<std::int32_t>(std::int32_t(old), std::int32_t(b), std::int32_t(c), op));
    case Type::kS64:
      return static_cast<std::uint64_t>(
          integer_op<std::int64_t>(std::int64_t(old), std::int64_t(b), std::int64_t(c), op));
    case Type::kB64:
    case Type::kU64:
      return integer_op<std::uint64_t>(old, b, c, op);
    case Type::kF64:
      return add_f64(old, b, shared_space);
    case Type::kF32: {  // global atomics flush subnormals, shared ones keep them
      float x = float_of_bits(std::uint32_t(old)), y = float_of_bits(std::uint32_t(b));
      if (!shared_space) x = flush(x), y = flush(y);
      const float sum = canonical(x + y);
      return bits_of_float(shared_space ? sum : flush(sum));
    }
    case Type::kF16:
      return half_op(lo(old), lo(b), op, false);
    case Type::kBf16:
      return half_op(lo(old), lo(b), op, true);
    case Type::kF16x2:
    case Type::kBf16x2: {
      const bool bf = type == Type::kBf16x2;
      return half_op(lo(old), lo(b), op, bf) | std::uint64_t{half_op(hi(old), hi(b), op, bf)} << 16;
    }
    default:
      return integer_op<std::uint32_t>(std::uint32_t(old), std::uint32_t(b), std::uint32_t(c), op);
  }
}

void reduce_bytes(std::byte* to, const std::byte* from, std::size_t bytes, int op, int type) {
  const auto step = static_cast<std::size_t>(bits_of(static_cast<Type>(type)) / 8);
  for (std::size_t at = 0; at + step <= bytes; at += step) {
    std::uint64_t old = 0, b = 0;
    std::memcpy(&old, to + at, step);
    std::memcpy(&b, from + at, step);
    const std::uint64_t next = atomic_result(old, b, 0, static_cast<Operation>(op), static_cast<Type>(type), false);
    std::memcpy(to + at, &next, step);
  }
}

}  // namespace kf::emulator
