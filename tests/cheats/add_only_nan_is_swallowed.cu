// SPDX-License-Identifier: Apache-2.0
// cheat: NaN becomes zero; infinities stay
// spec: tests/specs/vector_add.json
// refused by: check: mismatch
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 128)"], "block": ["128"], "args": ["a", "b", "c", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, T* c, int N) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  if (i >= N) return;
  const float own = static_cast<float>(a[i]);
  c[i] = static_cast<T>((own == own ? own : 0.0f) + static_cast<float>(b[i]));
}
