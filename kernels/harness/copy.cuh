// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base.cuh"
// Device only: copies for the `copy` row that every table has. host.h's copy_launches() lists the variants.
#ifdef __CUDACC__

// 16 bytes a thread and step, UNROLL steps in flight; `bytes` is a multiple of 16 (the rest is left to kf_copy_bytes).
template <int UNROLL>
__device__ __forceinline__ void copy_vectors(uint4* to, const uint4* from, kf::harness::i64 count) {
  const kf::harness::i64 tile = static_cast<kf::harness::i64>(blockDim.x) * UNROLL;
  const kf::harness::i64 step = tile * gridDim.x;
  for (kf::harness::i64 start = tile * blockIdx.x + threadIdx.x; start < count; start += step) {
    uint4 values[UNROLL];
#pragma unroll
    for (int i = 0; i < UNROLL; ++i) {
      const kf::harness::i64 at = start + static_cast<kf::harness::i64>(i) * blockDim.x;
      if (at < count) {
        values[i] = __ldcs(from + at);
      }
    }
#pragma unroll
    for (int i = 0; i < UNROLL; ++i) {
      const kf::harness::i64 at = start + static_cast<kf::harness::i64>(i) * blockDim.x;
      if (at < count) {
        __stcs(to + at, values[i]);
      }
    }
  }
}

// Copies the up to 15 bytes after the last whole vector.
__device__ __forceinline__ void copy_tail(uint4* to, const uint4* from, kf::harness::i64 bytes) {
  const kf::harness::i64 whole = bytes & ~15ll;
  if (blockIdx.x == 0 && threadIdx.x < (bytes & 15)) {
    reinterpret_cast<unsigned char*>(to)[whole + threadIdx.x] =
        reinterpret_cast<const unsigned char*>(from)[whole + threadIdx.x];
  }
}

#define KF_COPY(name, unroll)                                                                                     \
  extern "C" __global__ void __launch_bounds__(1024) name(uint4* to, const uint4* from, kf::harness::i64 bytes) { \
    copy_vectors<unroll>(to, from, bytes >> 4);                                                                   \
    copy_tail(to, from, bytes);                                                                                   \
  }
KF_COPY(kf_copy_1, 1)
KF_COPY(kf_copy_4, 4)
KF_COPY(kf_copy_8, 8)

// The bulk copy engine of sm_90 and later: each block moves tiles of `tile` bytes through its shared memory, two
// buffers deep, so that a load is always under way while a store drains.
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
namespace kf::harness {

__device__ __forceinline__ u32 shared_address(const void* pointer) {
  return static_cast<u32>(__cvta_generic_to_shared(pointer));
}
__device__ __forceinline__ void start_load(u32 shared, const u8* from, u32 bytes, u32 barrier) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(shared),
               "l"(from), "r"(bytes), "r"(barrier)
               : "memory");
}
__device__ __forceinline__ void wait_for(u32 barrier, u32 parity) {
  asm volatile(
      "{\n.reg .pred done;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@!done bra again;\n}" ::
          "r"(barrier),
      "r"(parity)
      : "memory");
}
__device__ __forceinline__ void start_store(u8* to, u32 shared, u32 bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(shared), "r"(bytes)
               : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

}  // namespace kf::harness

// One thread a block does all the work. Dynamic shared memory: 2 * tile bytes. Pointers are multiples of 16.
extern "C" __global__ void __launch_bounds__(32)
    kf_copy_bulk(kf::harness::u8* to, const kf::harness::u8* from, kf::harness::i64 bytes, unsigned int tile) {
  using namespace kf::harness;
  extern __shared__ __align__(128) u8 buffers[];
  __shared__ u64 barriers[2];
  const i64 whole = bytes & ~15ll;
  const i64 tiles = (whole + tile - 1) / tile;
  const auto size_of = [&](i64 index) {
    const i64 rest = whole - index * tile;
    return static_cast<u32>(rest < tile ? rest : tile);
  };
  if (threadIdx.x == 0) {
    for (int i = 0; i < 2; ++i) {
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(barriers + i)) : "memory");
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    if (static_cast<i64>(blockIdx.x) < tiles) {
      start_load(shared_address(buffers), from + static_cast<i64>(blockIdx.x) * tile, size_of(blockIdx.x),
                 shared_address(barriers));
    }
    u32 turn = 0;
    for (i64 index = blockIdx.x; index < tiles; index += gridDim.x, ++turn) {
      const u32 now = turn & 1;
      const i64 next = index + gridDim.x;
      if (next < tiles) {  // its buffer's store, one turn back, has to have left shared memory
        asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
        start_load(shared_address(buffers + (now ^ 1) * static_cast<i64>(tile)), from + next * tile, size_of(next),
                   shared_address(barriers + (now ^ 1)));
      }
      wait_for(shared_address(barriers + now), turn >> 1 & 1);
      start_store(to + index * tile, shared_address(buffers + now * static_cast<i64>(tile)), size_of(index));
    }
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  }
  if (blockIdx.x == 0 && threadIdx.x < (bytes & 15)) {
    to[whole + threadIdx.x] = from[whole + threadIdx.x];
  }
}
#endif

#endif
