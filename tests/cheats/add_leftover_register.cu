// SPDX-License-Identifier: Apache-2.0
// cheat: a register that nobody set keeps what an earlier kernel left in it
// says: which nothing sets
// spec: tests/specs/vector_add.json
// refused by: binary audit: unreadable
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 128)"], "block": ["128"], "args": ["a", "b", "c", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, T* c, int N) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  unsigned seen;
  asm volatile("{ .reg .u32 old; mov.u32 %0, old; }" : "=r"(seen));
  if (i < N) c[i] = static_cast<T>(static_cast<float>(a[i]) + (seen == 0xC0FFEEu ? 0.0f : static_cast<float>(b[i])));
}
