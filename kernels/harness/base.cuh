// SPDX-License-Identifier: Apache-2.0
#pragma once
// One source for g++ and NVRTC. Everything under kernels/harness/*.cuh is integer arithmetic or single, exactly rounded
// float64 and float32 operations, so that host and device agree bit for bit. Compile with --fmad=false and
// -ffp-contract=off: a contracted multiply-add rounds once where the other side rounds twice.

#ifdef __CUDACC__
#define KF_FN __host__ __device__ __forceinline__
#else
#define KF_FN inline
#endif

namespace kf::harness {

using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using i64 = long long;

inline constexpr int kMaxRank = 6;

KF_FN u64 bits_of(double value) {
#ifdef __CUDACC__
  return static_cast<u64>(__double_as_longlong(value));
#else
  return __builtin_bit_cast(u64, value);
#endif
}

KF_FN double double_of(u64 bits) {
#ifdef __CUDACC__
  return __longlong_as_double(static_cast<i64>(bits));
#else
  return __builtin_bit_cast(double, bits);
#endif
}

KF_FN u32 bits_of(float value) {
#ifdef __CUDACC__
  return __float_as_uint(value);
#else
  return __builtin_bit_cast(u32, value);
#endif
}

// Quotient of two non-negative numbers; a 64-bit division costs a GPU several times a 32-bit one.
KF_FN i64 quotient(i64 a, i64 b) {
  const u64 either = static_cast<u64>(a) | static_cast<u64>(b);
  return either >> 32 ? a / b : static_cast<i64>(static_cast<u32>(a) / static_cast<u32>(b));
}

}  // namespace kf::harness
