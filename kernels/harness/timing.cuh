// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "philox.cuh"
// Device only: the kernels that stand around a timed launch.
#ifdef __CUDACC__

namespace kf::harness {

__device__ __forceinline__ u64 global_nanoseconds() {
  u64 now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

}  // namespace kf::harness

// Holds the stream until the host sets *open (mapped memory), so that everything timed is queued before it starts.
// After `timeout` nanoseconds it lets go and says so in *timed_out: the batch is then void.
extern "C" __global__ void kf_gate(volatile unsigned int* open, volatile unsigned int* timed_out,
                                   kf::harness::u64 timeout) {
  const kf::harness::u64 start = kf::harness::global_nanoseconds();
  while (*open == 0) {
    if (kf::harness::global_nanoseconds() - start > timeout) {
      *timed_out = 1;
      __threadfence_system();
      return;
    }
    __nanosleep(200);
  }
}

// One block a multiprocessor; whichever runs on multiprocessor 0 stores its cycle counter and the global timer. Two of
// these around some work give the mean clock in between, without asking anybody.
extern "C" __global__ void kf_clock(kf::harness::u64* pair) {
  unsigned int sm;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  if (sm == 0 && threadIdx.x == 0) {
    pair[0] = kf::harness::global_nanoseconds();
    pair[1] = static_cast<kf::harness::u64>(clock64());
  }
}

// Reads all of [data, data + count): afterwards the L2 holds these lines, clean. A memset would leave dirty ones, whose
// write-back the next kernel would pay for.
extern "C" __global__ void __launch_bounds__(512)
    kf_flush(const uint4* data, kf::harness::i64 count, unsigned int* sink) {
  unsigned int sum = 0;
  const kf::harness::i64 step = static_cast<kf::harness::i64>(gridDim.x) * blockDim.x;
  for (kf::harness::i64 i = static_cast<kf::harness::i64>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += step) {
    const uint4 value = __ldcg(data + i);
    sum += value.x ^ value.y ^ value.z ^ value.w;
  }
  if (sum == 0x5EED1E55u) {  // never for the buffer's contents, which the compiler cannot know
    *sink = sum;
  }
}

// Keeps other work off multiprocessors, until *release is set (mapped memory) or `longest` nanoseconds are over.
// Launched with one block a multiprocessor, each with all the shared memory that a block may have, on an idle device:
// no other block fits beside one that stays. `seed` picks who stays, `held` of 2^32 of them; one multiprocessor is
// always left. Half of the held ones move memory meanwhile. `staggered`: each lets go after a random part of `longest`.
// A block writes to its word of `states` (mapped memory) when it is there: 1 if it leaves at once, 2 if it stays.
extern "C" __global__ void __launch_bounds__(256)
    kf_disturb(volatile unsigned int* release, volatile unsigned int* states, kf::harness::u64 seed, unsigned int held,
               kf::harness::u64 longest, unsigned int staggered, uint4* scratch, kf::harness::i64 vectors) {
  unsigned int sm, count;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  asm volatile("mov.u32 %0, %%nsmid;" : "=r"(count));
  const kf::harness::Words4 draw = kf::harness::philox(seed, sm, kf::harness::kDisturbanceStream);
  const bool stays = draw.x < held && sm != static_cast<unsigned int>(seed % count);
  if (threadIdx.x == 0) {
    states[blockIdx.x] = stays ? 2 : 1;
    __threadfence_system();
  }
  if (!stays) {
    return;
  }
  const kf::harness::u64 start = kf::harness::global_nanoseconds();
  const kf::harness::u64 mine = staggered != 0 ? longest * (draw.y >> 12) >> 20 : longest;
  const bool moves = (draw.z & 1) != 0;
  extern __shared__ unsigned int shared[];  // the block is given all that there is; one word is used
  kf::harness::i64 at = (static_cast<kf::harness::i64>(draw.w) * blockDim.x) % vectors;
  for (;;) {
    if (threadIdx.x == 0) {
      shared[0] = *release != 0 || kf::harness::global_nanoseconds() - start > mine;
    }
    __syncthreads();
    if (shared[0] != 0) {
      return;
    }
    if (!moves) {
      __nanosleep(1000);
    }
    for (int i = 0; moves && i < 64; ++i) {
      at = at + 4099 * static_cast<kf::harness::i64>(blockDim.x);
      at -= at >= vectors ? vectors : 0;
      const kf::harness::i64 here = (at + threadIdx.x) % vectors;
      uint4 value = __ldcg(scratch + here);
      value.x += 1;
      __stcg(scratch + here, value);
    }
    __syncthreads();  // nobody reads the word any more
  }
}

// Ends when everything before it has: stands between a kernel launched with programmatic dependent launch, which
// dependents may overlap, and the stop event.
extern "C" __global__ void kf_fence() {}

// Random bytes in all the shared memory that a block may have and in a large local frame, so that a launch finds
// nothing of an earlier one there. Launched with one block a multiprocessor's worth of shared memory, several times
// over.
extern "C" __global__ void __launch_bounds__(256)
    kf_scrub_shared(kf::harness::u64 seed, unsigned int words, unsigned int* sink) {
  extern __shared__ unsigned int shared[];
  volatile unsigned int local[512];
  const kf::harness::u64 block = static_cast<kf::harness::u64>(blockIdx.x) << 32;
  for (unsigned int i = threadIdx.x; i < words; i += blockDim.x) {
    shared[i] = kf::harness::philox(seed, block + i, kf::harness::kScrubStream).x;
  }
  for (unsigned int i = 0; i < 512; ++i) {
    local[i] = static_cast<unsigned int>(seed >> (i & 31)) ^ i * 2654435761u;
  }
  __syncthreads();
  if (words > 0 && shared[(threadIdx.x * 977u) % words] == 0x5EED1E55u && local[threadIdx.x & 511] == 1) {
    *sink = 1;
  }
}

#endif
