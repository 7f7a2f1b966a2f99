// SPDX-License-Identifier: Apache-2.0
// honest: names of what is refused, in comments, strings and identifiers
// spec: tests/specs/vector_add.json
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 256)"], "block": ["256"], "args": ["a", "b", "c", "N:i32"]}] }
*/
// printf, clock64(), asm volatile("mov.u64 %0, %globaltimer;"), malloc, free, __trap, #include <cstdio>, _Pragma: only words.
/* extern "C" int vprintf(const char*, void*); __has_include(<secret>) __DATE__ __TIME__ */
__device__ float clock_free(float printf_of_a, float malloc_of_b) {
  static_assert(sizeof(float) == 4, "printf, clock, asm and malloc are words here");
  return printf_of_a + malloc_of_b;  // asm("trap;");
}
extern "C" __global__ void k(const T* a, const T* b, T* c, int N) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < N) c[i] = static_cast<T>(clock_free(static_cast<float>(a[i]), static_cast<float>(b[i])));
}
