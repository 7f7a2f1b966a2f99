// SPDX-License-Identifier: Apache-2.0
// cheat: each block of 256 elements starts at zero
// spec: tests/specs/prefix_sum.json
// refused by: check: mismatch
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["M"], "block": ["32"], "args": ["x", "y", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* x, T* y, int N) {
  x += 1ll * blockIdx.x * N;
  y += 1ll * blockIdx.x * N;
  for (int first = 256 * threadIdx.x; first < N; first += 256 * 32) {
    T sum = 0;
    for (int i = first; i < min(N, first + 256); ++i) y[i] = sum += x[i];
  }
}
