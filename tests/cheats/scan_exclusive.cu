// SPDX-License-Identifier: Apache-2.0
// cheat: sums that leave out their own element
// spec: tests/specs/prefix_sum.json
// refused by: check: mismatch
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["M"], "block": ["32"], "args": ["x", "y", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* x, T* y, int N) {
  if (threadIdx.x != 0) return;
  T sum = 0;
  for (int i = 0; i < N; ++i) {
    y[1ll * blockIdx.x * N + i] = sum;
    sum += x[1ll * blockIdx.x * N + i];
  }
}
