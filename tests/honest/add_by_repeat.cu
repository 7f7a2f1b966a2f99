// SPDX-License-Identifier: Apache-2.0
// honest: a plan that repeats a kernel over slices, side by side
// spec: tests/specs/vector_add.json
/*kfactory
{ "plan": 1,
  "define": {"SLICES": "4"},
  "kernels": [{"name": "k", "repeat": {"s": "SLICES"}, "after": [], "grid": ["ceil_div(N, 4 * 128)"], "block": ["128"], "args": ["a", "b", "c", "s:i32", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, T* c, int s, int N) {
  const int i = (blockIdx.x * SLICES + s) * 128 + threadIdx.x;
  if (i < N) c[i] = static_cast<T>(static_cast<float>(a[i]) + static_cast<float>(b[i]));
}
