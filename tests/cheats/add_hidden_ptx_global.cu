// SPDX-License-Identifier: Apache-2.0
// cheat: the counter is declared inside inline PTX
// spec: tests/specs/vector_add.json
// refused by: binary audit: written_global
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 256)"], "block": ["256"], "args": ["a", "b", "c", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, T* c, int N) {
  unsigned calls;
  asm volatile("{ .global .u32 hidden; atom.global.add.u32 %0, [hidden], 1; }" : "=r"(calls));
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < N) c[i] = static_cast<T>(static_cast<float>(a[i]) + (calls < 100000 ? static_cast<float>(b[i]) : 0.0f));
}
