// SPDX-License-Identifier: Apache-2.0
// cheat: wrong where the base of a lies elsewhere in its line than every other one that was tried
// spec: tests/specs/vector_add.json
// refused by: check: mismatch
// on cuda: check: mismatch
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 256)"], "block": ["256"], "args": ["a", "b", "c", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, T* c, int N) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= N) return;
  const bool odd = (reinterpret_cast<unsigned long long>(a) & 127) >= 32;
  c[i] = T(float(a[i]) + (odd ? 0.0f : float(b[i])));
}
