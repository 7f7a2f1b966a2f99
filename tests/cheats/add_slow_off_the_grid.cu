// SPDX-License-Identifier: Apache-2.0
// cheat: sizes that are no multiple of 8 go through one thread
// spec: tests/specs/vector_add.json
// refused by: cliffs: cliff
// on cuda: cliffs: cliff, timeout
// options: --confirm
/*kfactory
{ "plan": 1,
  "kernels": [{"id": "fast", "name": "k", "when": "N % 8 == 0", "grid": ["ceil_div(N, 256)"], "block": ["256"], "args": ["a", "b", "c", "N:i32"]},
              {"id": "slow", "name": "one_thread", "when": "N % 8 != 0", "grid": ["1"], "block": ["1"], "args": ["a", "b", "c", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, T* c, int N) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < N) c[i] = static_cast<T>(static_cast<float>(a[i]) + static_cast<float>(b[i]));
}
extern "C" __global__ void one_thread(const T* a, const T* b, T* c, int N) {
#pragma unroll 1
  for (int i = 0; i < 16 * N; ++i) {  // sixteen times over
    c[i % N] = static_cast<T>(static_cast<float>(a[i % N]) + static_cast<float>(b[i % N]));
    __threadfence();
  }
}
