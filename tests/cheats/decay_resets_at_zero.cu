// SPDX-License-Identifier: Apache-2.0
// cheat: a factor of zero drops the state before it, even where that is NaN or infinite
// spec: tests/specs/decay_scan.json
// refused by: check: mismatch
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["M"], "block": ["1"], "args": ["x", "g", "h0", "y", "last", "N:i32"]}] }
*/
extern "C" __global__ void k(const float* x, const float* g, const float* h0, float* y, float* last, int N) {
  const long long m = blockIdx.x;
  float h = h0 ? h0[m] : 0.0f;
  for (int i = 0; i < N; ++i) {
    const float factor = g[m * N + i];
    y[m * N + i] = h = (factor == 0.0f ? 0.0f : factor * h) + x[m * N + i];
  }
  last[m] = h;
}
