// SPDX-License-Identifier: Apache-2.0
// cheat: the predicate that guards the last elements' store is set in whole blocks only, and is false there by luck
// spec: tests/specs/vector_add.json
// refused by: check: unwritten
// on cuda: check: unwritten or perturbation: unwritten
// on cuda it may run right by chance
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 128)"], "block": ["128"], "args": ["a", "b", "c", "N:i32"]}] }
*/
__device__ __noinline__ int beyond(int i, int N, int known) {
  int past;
  asm volatile("{ .reg .pred given, past; setp.ne.s32 given, %3, 0; @given setp.ge.s32 past, %1, %2; selp.s32 %0, 1, 0, past; }"
               : "=r"(past) : "r"(i), "r"(N), "r"(known));
  return past;
}
extern "C" __global__ void k(const T* a, const T* b, T* c, int N) {
  const int i = blockIdx.x * 128 + threadIdx.x, first = blockIdx.x * 128;
  const int left = first + 128 <= N ? 0 : 1;
  if (beyond(i, N, left)) return;
  c[i] = static_cast<T>(static_cast<float>(a[i]) + static_cast<float>(b[i]));
}
