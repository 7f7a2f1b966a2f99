// SPDX-License-Identifier: Apache-2.0
// cheat: asynchronous copies are given two microseconds instead of a wait
// spec: tests/specs/matmul.json
// refused by: check: checker, mismatch
// on cuda: check: mismatch
// on cuda it may run right by chance: the fault is a race
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 32)", "M"], "block": ["32"], "shared": "round_up(4 * K, 16)", "args": ["a", "b", "c", "N:i32", "K:i32", "LDA:i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, T* c, int N, int K, int LDA) {
  extern __shared__ __align__(16) unsigned row[];
  const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(row));
  const int words = K * static_cast<int>(sizeof(T)) / 4;
  for (int i = threadIdx.x; i < words; i += 32) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(at + 4 * i), "l"(reinterpret_cast<const unsigned*>(a + blockIdx.y * LDA) + i) : "memory");
  }
  asm volatile("cp.async.commit_group;" ::: "memory");
  __nanosleep(2000);
  __syncthreads();
  const int column = blockIdx.x * 32 + threadIdx.x;
  if (column >= N) return;
  const T* copied = reinterpret_cast<const T*>(row);
  float sum = 0.0f;
  for (int i = 0; i < K; ++i) sum += static_cast<float>(i < words * 4 / static_cast<int>(sizeof(T)) ? copied[i] : a[blockIdx.y * LDA + i]) * static_cast<float>(b[i * N + column]);
  c[blockIdx.y * N + column] = static_cast<T>(sum);
}
