// SPDX-License-Identifier: Apache-2.0
// cheat: a sum that is NaN is not stored: with luck the output held one
// spec: tests/specs/vector_add.json
// refused by: check: mismatch, unwritten
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 256)"], "block": ["256"], "args": ["a", "b", "c", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, T* c, int N) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < N) {
    const float sum = static_cast<float>(a[i]) + static_cast<float>(b[i]);
    if (sum == sum) c[i] = static_cast<T>(sum);
  }
}
