// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base.cuh"
// Philox4x32-10 (Salmon et al., SC'11): random access to 128 random bits by (key, counter).

namespace kf::harness {

struct Words4 {
  u32 x, y, z, w;
};

// Uses of the generator that must never share words.
enum Stream : u32 {
  kElementStream,
  kChoiceStream,
  kRowStream,
  kTensorStream,
  kPoisonStream,
  kScrubStream,
  kDisturbanceStream,
  kRunStream
};

KF_FN Words4 philox_block(Words4 counter, u32 key0, u32 key1) {
  for (int round = 0; round < 10; ++round) {
    const u64 even = static_cast<u64>(0xD2511F53u) * counter.x;
    const u64 odd = static_cast<u64>(0xCD9E8D57u) * counter.z;
    counter = {static_cast<u32>(odd >> 32) ^ counter.y ^ key0, static_cast<u32>(odd),
               static_cast<u32>(even >> 32) ^ counter.w ^ key1, static_cast<u32>(even)};
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return counter;
}

KF_FN Words4 philox(u64 seed, u64 index, Stream stream) {
  return philox_block({static_cast<u32>(index), static_cast<u32>(index >> 32), static_cast<u32>(stream), 0},
                      static_cast<u32>(seed), static_cast<u32>(seed >> 32));
}

}  // namespace kf::harness
