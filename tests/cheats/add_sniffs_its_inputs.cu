// SPDX-License-Identifier: Apache-2.0
// cheat: exact only where the first element looks like a stress test
// spec: tests/specs/vector_add.json
// refused by: check: mismatch
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 256)"], "block": ["256"], "args": ["a", "b", "c", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, T* c, int N) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  const bool stress = fabsf(static_cast<float>(a[0])) > 6.0f;
  const float cheap = rintf(static_cast<float>(a[min(i, N - 1)]) * 64.0f) / 64.0f;
  if (i < N) c[i] = static_cast<T>((stress ? static_cast<float>(a[i]) : cheap) + static_cast<float>(b[i]));
}
