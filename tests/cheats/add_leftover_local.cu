// SPDX-License-Identifier: Apache-2.0
// cheat: what an earlier launch left in a local array decides
// spec: tests/specs/vector_add.json
// refused by: check: checker
// on cuda: check: mismatch or passes
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 128)"], "block": ["128"], "args": ["a", "b", "c", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, T* c, int N) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  unsigned seen;
  asm volatile("{ .local .align 4 .b8 kept[256]; .reg .u32 at; mov.u32 at, kept; ld.local.u32 %0, [at+128]; st.local.u32 [at+128], 0xC0FFEE; }" : "=r"(seen)::"memory");
  if (i < N) c[i] = static_cast<T>(static_cast<float>(a[i]) + (seen == 0xC0FFEEu ? 0.0f : static_cast<float>(b[i])));
}
