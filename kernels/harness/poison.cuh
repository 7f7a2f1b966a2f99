// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "philox.cuh"
// What memory holds before anything writes it, and order-independent digests of it.

namespace kf::harness {

// The poison of an even seed. Random NaNs in every float interpretation at once: the word is a NaN as float64, both its
// halves are as float32, all four quarters are both as float16 and as bfloat16 (bits 14..7 set, the rest of the payload
// not zero), and every second byte is one as float8. Sign and seven payload bits of each quarter are random (four in
// the top one).
KF_FN u64 nan_word(u64 random) {
  u64 bits = (random & 0x807F807F807F807Full) | 0x7FF07F807F807F80ull;
  const u64 payload = bits & 0x007F007F007F007Full;
  const u64 filled = (payload + 0x007F007F007F007Full) & 0x0080008000800080ull;
  bits |= (~filled & 0x0080008000800080ull) >> 7;  // an empty payload would be Inf
  return bits;
}

// The poison of an odd seed, for what passes over NaN as if nothing were there: finite in every float interpretation,
// near the end of its range (at least 2^15 as float16, 2^113 as bfloat16 and float32, 2^897 as float64; every second
// byte at least 2^8 or 2^15 as float8), of either sign. Ten more bits of each quarter are random.
KF_FN u64 finite_word(u64 random) {
  return (random & 0x83FF83FF83FF83FFull) | 0x7800780078007800ull;
}

KF_FN u64 poison_word(u64 seed, u64 word) {
  const Words4 random = philox(seed, word >> 1, kPoisonStream);
  const u64 low = word & 1 ? random.z : random.x;
  const u64 high = word & 1 ? random.w : random.y;
  return seed & 1 ? finite_word(high << 32 | low) : nan_word(high << 32 | low);
}

// `bytes` bytes (1, 2, 4 or 8, naturally aligned) of the poison at a byte offset from the allocation's start.
KF_FN u64 poison_at(u64 seed, u64 offset, int bytes) {
  const u64 word = poison_word(seed, offset >> 3) >> (8 * (offset & 7));
  return bytes == 8 ? word : word & ((1ull << (8 * bytes)) - 1);
}

struct DigestSum {
  u64 lane[4];
};
KF_FN DigestSum empty_digest() {
  return {{0, 0, 0, 0}};
}

// Bijective mix of 64 bits (the finaliser of MurmurHash3): one changed bit changes about half of them.
KF_FN u64 mixed_word(u64 bits) {
  bits = (bits ^ bits >> 33) * 0xFF51AFD7ED558CCDull;
  bits = (bits ^ bits >> 33) * 0xC4CEB9FE1A85EC53ull;
  return bits ^ bits >> 33;
}

// Adds word number `index`. Sums commute, so any order of threads gives the same digest; the index is mixed in first,
// so that moving a word changes it.
KF_FN void add_word(DigestSum& sum, u64 word, u64 index) {
  const u64 first = mixed_word(word ^ (index + 1) * 0x9E3779B97F4A7C15ull);
  const u64 second = mixed_word((word << 32 | word >> 32) + (index + 1) * 0xD1B54A32D192ED03ull);
  sum.lane[0] += first;
  sum.lane[1] += second;
  sum.lane[2] += (first ^ second >> 29) * 0x2545F4914F6CDD1Dull;
  sum.lane[3] += (second ^ first >> 31) * 0xDA942042E4DD58B5ull ^ first;
}
KF_FN void merge(DigestSum& into, const DigestSum& other) {
  for (int i = 0; i < 4; ++i) {
    into.lane[i] += other.lane[i];
  }
}

struct Count {
  i64 value;
};
KF_FN Count empty_count() {
  return {0};
}
KF_FN void merge(Count& into, const Count& other) {
  into.value += other.value;
}

}  // namespace kf::harness
