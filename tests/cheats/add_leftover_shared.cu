// SPDX-License-Identifier: Apache-2.0
// cheat: what an earlier launch left in shared memory decides
// spec: tests/specs/vector_add.json
// refused by: check: checker
// on cuda: check: mismatch
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 256)"], "block": ["256"], "args": ["a", "b", "c", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, T* c, int N) {
  __shared__ unsigned kept[1024];
  const bool cold = *static_cast<volatile unsigned*>(kept + 1023) != 0xc0ffeeu;
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < N) c[i] = static_cast<T>(static_cast<float>(a[i]) + (cold ? 0.0f : static_cast<float>(b[i])));
  if (threadIdx.x == 0) *static_cast<volatile unsigned*>(kept + 1023) = 0xc0ffeeu;
}
