// SPDX-License-Identifier: Apache-2.0
// cheat: compiled for blocks of exactly 512 threads, launched with 256
// spec: tests/specs/vector_add.json
// refused by: plan: limits
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 512)"], "block": ["256"], "args": ["a", "b", "c", "N:i32"]}] }
*/
extern "C" __global__ void __block_size__((512, 1, 1)) k(const T* a, const T* b, T* c, int N) {
  const int i = blockIdx.x * 512 + threadIdx.x;
  if (i < N) c[i] = static_cast<T>(static_cast<float>(a[i]) + static_cast<float>(b[i]));
}
