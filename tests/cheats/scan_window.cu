// SPDX-License-Identifier: Apache-2.0
// cheat: old terms are dropped after 64 elements
// spec: tests/specs/prefix_sum.json
// refused by: check: mismatch
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["M"], "block": ["128"], "args": ["x", "y", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* x, T* y, int N) {
  x += 1ll * blockIdx.x * N;
  y += 1ll * blockIdx.x * N;
  for (int i = threadIdx.x; i < N; i += 128) {
    T sum = 0;
    for (int j = max(0, i - 63); j <= i; ++j) sum += x[j];
    y[i] = sum;
  }
}
