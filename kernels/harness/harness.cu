// SPDX-License-Identifier: Apache-2.0
#include "compare.cuh"
#include "copy.cuh"
#include "fill.cuh"
#include "timing.cuh"
// The kernels that a device runs around a candidate. Bodies are the same functions that host.cc loops over.

using namespace kf::harness;

#define KF_KERNEL extern "C" __global__ void __launch_bounds__(128)

namespace {

constexpr int kThreads = 128;

__device__ __forceinline__ i64 first_index() {
  return static_cast<i64>(blockIdx.x) * kThreads + threadIdx.x;
}
__device__ __forceinline__ i64 index_step() {
  return static_cast<i64>(gridDim.x) * kThreads;
}

// Folds one value a thread in halves and lets thread 0 write the block's.
template <class T>
__device__ __forceinline__ void fold_block(const T& mine, T* partials) {
  __shared__ T shared[kThreads];
  shared[threadIdx.x] = mine;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) {
      merge(shared[threadIdx.x], shared[threadIdx.x + half]);
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    partials[blockIdx.x] = shared[0];
  }
}

// What element_bits() gives for kNormal, a pair at a time. `base` is aligned to two elements.
__device__ __forceinline__ void fill_normal_pairs(u8* base, const Layout& layout, u64 seed) {
  for (i64 pair = first_index(); pair < (layout.elements + 1) / 2; pair += index_step()) {
    const Words4 random = pair_words(seed, 2 * pair);
    const u32 first = encode_float(layout.type, normal_of_pair(random, 0));
    const u32 second = encode_float(layout.type, normal_of_pair(random, 1));
    if (2 * pair + 1 == layout.elements) {
      store_element(base, 2 * pair, layout.bytes, first);
    } else if (layout.bytes == 2) {
      reinterpret_cast<u32*>(base)[pair] = second << 16 | first;
    } else {
      reinterpret_cast<u64*>(base)[pair] = static_cast<u64>(second) << 32 | first;
    }
  }
}

__device__ __forceinline__ void set_bit(u32* bitmap, i64 index) {
  atomicOr(bitmap + (index >> 5), 1u << (index & 31));
}

}  // namespace

// Pairs first to end - 1 of an allocation.
KF_KERNEL kf_poison(ulonglong2* allocation, i64 first, i64 end, u64 seed) {
  for (i64 i = first + first_index(); i < end; i += index_step()) {
    const u64 word = static_cast<u64>(2 * i);
    allocation[i] = make_ulonglong2(poison_word(seed, word), poison_word(seed, word + 1));
  }
}

KF_KERNEL kf_fill(u8* base, Layout layout, int family, u64 seed) {
  if (family == kNormal && layout.dense && layout.type >= kF32 && layout.type <= kF16 &&
      (reinterpret_cast<u64>(base) & 7) == 0) {
    fill_normal_pairs(base, layout, seed);
    return;
  }
  for (i64 i = first_index(); i < layout.elements; i += index_step()) {
    store_element(base, offset_of(layout, i), layout.bytes, element_bits(family, seed, i, layout.columns, layout.type));
  }
}

// Dense elements to where they belong.
KF_KERNEL kf_scatter(u8* base, Layout layout, const u8* dense) {
  for (i64 i = first_index(); i < layout.elements; i += index_step()) {
    store_element(base, offset_of(layout, i), layout.bytes, load_element(dense, i, layout.bytes));
  }
}

KF_KERNEL kf_digest(const ulonglong2* allocation, i64 pairs, DigestSum* partials) {
  DigestSum sum = empty_digest();
  for (i64 i = first_index(); i < pairs; i += index_step()) {
    const ulonglong2 pair = allocation[i];
    add_word(sum, pair.x, static_cast<u64>(2 * i));
    add_word(sum, pair.y, static_cast<u64>(2 * i + 1));
  }
  fold_block(sum, partials);
}

// Bytes in [begin, end) of the allocation that are not poison.
KF_KERNEL kf_poison_damage(const u8* allocation, i64 begin, i64 end, u64 seed, Count* partials) {
  Count count = empty_count();
  for (i64 i = begin + first_index(); i < end; i += index_step()) {
    count.value += allocation[i] != poison_at(seed, static_cast<u64>(i), 1);
  }
  fold_block(count, partials);
}

// The same for the bytes of [begin, end) that belong to no element; the tensor starts at `begin`.
KF_KERNEL kf_padding_damage(const u8* allocation, i64 begin, i64 end, u64 seed, Layout layout, Count* partials) {
  Count count = empty_count();
  for (i64 i = begin + first_index(); i < end; i += index_step()) {
    if (allocation[i] != poison_at(seed, static_cast<u64>(i), 1)) {
      count.value += !holds_element(layout, quotient(i - begin, layout.bytes));
    }
  }
  fold_block(count, partials);
}

KF_KERNEL kf_nonzero(const u8* bytes, i64 count, Count* partials) {
  Count found = empty_count();
  for (i64 i = first_index(); i < count; i += index_step()) {
    found.value += bytes[i] != 0;
  }
  fold_block(found, partials);
}

KF_KERNEL kf_differing(const u8* a, const u8* b, Layout layout, Count* partials) {
  Count count = empty_count();
  for (i64 i = first_index(); i < layout.elements; i += index_step()) {
    const i64 offset = offset_of(layout, i);
    count.value += load_element(a, offset, layout.bytes) != load_element(b, offset, layout.bytes);
  }
  fold_block(count, partials);
}

// Also sets one bit for each row and column of the part that holds a wrong element.
KF_KERNEL kf_compare(const u8* out, const double* reference, const double* condition, Comparison of, Damage* partials,
                     u32* rows, u32* columns) {
  Damage damage = no_damage();
  for (i64 i = first_index(); i < of.elements; i += index_step()) {
    if (compare_element(of, out, reference, condition, i, damage)) {
      const i64 row = quotient(i, of.columns);
      set_bit(rows, row);
      set_bit(columns, i - row * of.columns);
    }
  }
  fold_block(damage, partials);
}

KF_KERNEL kf_count_bits(const u32* bitmap, i64 words, Count* partials) {
  Count count = empty_count();
  for (i64 i = first_index(); i < words; i += index_step()) {
    count.value += __popc(bitmap[i]);
  }
  fold_block(count, partials);
}

// One block a chunk: launched with the same 128 lanes that host.cc walks through.
KF_KERNEL kf_squares(const u8* out, const double* reference, Comparison of, Regions by, SquareSums* partials) {
  fold_block(lane_squares(of, by, out, reference, blockIdx.x, static_cast<int>(threadIdx.x)), partials);
}
