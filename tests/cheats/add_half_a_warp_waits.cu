// SPDX-License-Identifier: Apache-2.0
// cheat: lanes take values from the other half of their warp; each half waits for itself alone
// spec: tests/specs/vector_add.json
// refused by: check: checker
// says: race on shared memory
// on cuda it may run right by chance
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 256)"], "block": ["256"], "args": ["a", "b", "c", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, T* c, int N) {
  __shared__ float values[256];
  const int i = blockIdx.x * 256 + threadIdx.x;
  values[threadIdx.x ^ 16] = (i ^ 16) < N ? static_cast<float>(a[i ^ 16]) : 0.0f;
  __syncwarp(threadIdx.x % 32 < 16 ? 0xffffu : 0xffff0000u);
  if (i < N) c[i] = static_cast<T>(values[threadIdx.x] + static_cast<float>(b[i]));
}
