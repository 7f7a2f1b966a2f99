// SPDX-License-Identifier: Apache-2.0
// cheat: values beyond the range of half precision are clamped; infinity is not
// spec: tests/specs/vector_add.json
// refused by: check: mismatch
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 256)"], "block": ["256"], "args": ["a", "b", "c", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, T* c, int N) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= N) return;
  auto f = [](float x) { return fabsf(x) > 65504.0f && fabsf(x) < 1e38f ? copysignf(65504.0f, x) : x; };
  c[i] = T(f(a[i]) + f(b[i]));
}
