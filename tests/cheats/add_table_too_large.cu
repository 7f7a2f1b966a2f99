// SPDX-License-Identifier: Apache-2.0
// cheat: a constant table of 40 MB, which compiles in seconds and fills the memory of whoever reads the result
// spec: tests/specs/vector_add.json
// refused by: compile: memory
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 256)"], "block": ["256"], "args": ["a", "b", "c", "N:i32"]}] }
*/
__device__ const int table[10000000] = {1};
extern "C" __global__ void k(const T* a, const T* b, T* c, int N) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < N) c[i] = static_cast<T>(static_cast<float>(a[i]) + static_cast<float>(b[i]) + table[i & 1023] * 0.0f);
}
