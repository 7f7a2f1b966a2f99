// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace kf::gpu_tests {

// Kernels for the tests of launches and timing.
inline constexpr const char* kTestKernels = R"cuda(
typedef unsigned int u32;
typedef unsigned long long u64;
struct alignas(64) CUtensorMap { u64 opaque[16]; };
#define K extern "C" __global__ void

__device__ u64 now() { u64 t; asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t)); return t; }
__device__ void spin_for(u64 ns) { u64 start = now(); while (now() - start < ns) {} }

K add(int* p, int value) { p[blockIdx.x * blockDim.x + threadIdx.x] += value; }
K spin(int nanoseconds) { spin_for(nanoseconds); }
K set_late(int* p, int at, int value, int nanoseconds) { spin_for(nanoseconds); p[at] = value; }
K sum_two(int* p, int a, int b, int to) { p[to] = p[a] * 1000 + p[b]; }
K count_up(u32* counter, u32* out) { out[threadIdx.x] = atomicAdd(counter, 1u); }
K copy(const float4* from, float4* to, long long count) {
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < count; i += gridDim.x * (long long)blockDim.x) to[i] = from[i];
}

K cluster_ranks(u32* out) {
  __shared__ u32 mine;
  u32 rank, size, peer;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
  if (threadIdx.x == 0) mine = 100 + rank;
  asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
  u32 address = (u32)__cvta_generic_to_shared(&mine), remote;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(address), "r"((rank + 1) % size));
  asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(peer) : "r"(remote) : "memory");
  asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
  if (threadIdx.x == 0) out[blockIdx.x] = peer * 100 + size;
}

K meet(u32* arrived, u32* out) {   // ends only when all blocks are on the device at once
  if (threadIdx.x == 0) {
    atomicAdd(arrived, 1u);
    while (*(volatile u32*)arrived < gridDim.x) {}
    out[blockIdx.x] = 1;
  }
}

K produce(int* p, int nanoseconds) {
  asm volatile("griddepcontrol.launch_dependents;");
  spin_for(nanoseconds);
  p[threadIdx.x] = 7 + threadIdx.x;
}
K consume(const int* p, int* out) { asm volatile("griddepcontrol.wait;" ::: "memory"); out[threadIdx.x] = p[threadIdx.x] * 2; }
K consume_without_waiting(int* out) { out[threadIdx.x] = 1; }

K tile(const __grid_constant__ CUtensorMap map, float* out, int x, int y) {   // a 16 x 8 tile of floats
  __shared__ alignas(128) float data[128];
  __shared__ alignas(8) u64 barrier;
  u32 to = (u32)__cvta_generic_to_shared(data), bar = (u32)__cvta_generic_to_shared(&barrier);
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(bar) : "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 512;" :: "r"(bar) : "memory");
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
                 :: "r"(to), "l"(&map), "r"(x), "r"(y), "r"(bar) : "memory");
  }
  __syncthreads();
  asm volatile("{\n.reg .pred p;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0;\n@!p bra again;\n}" :: "r"(bar) : "memory");
  out[threadIdx.x] = data[threadIdx.x];
}

K big_shared(u32* out, int words) {
  extern __shared__ u32 s[];
  for (int i = threadIdx.x; i < words; i += blockDim.x) s[i] = i * 3;
  __syncthreads();
  u32 sum = 0;
  for (int i = threadIdx.x; i < words; i += blockDim.x) sum += s[words - 1 - i] == (u32)(words - 1 - i) * 3;
  atomicAdd(out, sum);
}
K leave_words(int words) {
  extern __shared__ u32 s[];
  for (int i = threadIdx.x; i < words; i += blockDim.x) ((volatile u32*)s)[i] = 0xC0FFEE00u;
}
K find_words(u32* out, int words) {
  extern __shared__ u32 s[];
  u32 found = 0;
  for (int i = threadIdx.x; i < words; i += blockDim.x) found += ((volatile u32*)s)[i] == 0xC0FFEE00u;
  atomicAdd(out, found);
}
K local_frame(u32* out, int n) {   // more local memory a thread than the default stack
  volatile u32 frame[4096];
  for (int i = 0; i < 4096; ++i) frame[i] = i + n;
  u32 sum = 0;
  for (int i = 0; i < 4096; ++i) sum += frame[(i * 7 + n) & 4095];
  out[threadIdx.x] = sum;
}
K wild(int* p) { p[(1ll << 42) + threadIdx.x] = 1; }
K forever(volatile int* p) { while (p[0] == 0) {} }
)cuda";

}  // namespace kf::gpu_tests
