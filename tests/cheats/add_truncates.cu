// SPDX-License-Identifier: Apache-2.0
// cheat: results are cut off instead of rounded where the type is narrow: always within one unit, never above
// spec: tests/specs/vector_add.json
// refused by: check: mismatch
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 128)"], "block": ["128"], "args": ["a", "b", "c", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, T* c, int N) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  if (i >= N) return;
  const float sum = static_cast<float>(a[i]) + static_cast<float>(b[i]);
  const bool cut = sizeof(T) == 2 && isfinite(sum);
  c[i] = static_cast<T>(cut ? __uint_as_float(__float_as_uint(sum) & 0xffff0000u) : sum);
}
