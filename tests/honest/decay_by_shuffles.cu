// SPDX-License-Identifier: Apache-2.0
// honest: steps of a warp handed on by shuffles
// spec: tests/specs/decay_scan.json
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["M"], "block": ["32"], "args": ["x", "g", "h0", "y", "last", "N:i32"]}] }
*/
extern "C" __global__ void __launch_bounds__(32) k(const float* x, const float* g, const float* h0, float* y, float* last, int N) {
  const long long m = blockIdx.x;
  float h = h0 ? h0[m] : 0.0f;
  for (int f = 0; f < N; f += 32) {
    const int i = f + threadIdx.x;
    const float a = i < N ? g[m * N + i] : 1.0f, b = i < N ? x[m * N + i] : 0.0f;
    for (int l = 0; l < 32 && f + l < N; ++l) {
      h = __shfl_sync(~0u, a, l) * h + __shfl_sync(~0u, b, l);
      if (l == threadIdx.x) y[m * N + f + l] = h;
    }
  }
  if (threadIdx.x == 0) last[m] = h;
}
