// SPDX-License-Identifier: Apache-2.0
// cheat: three terms that blocks add up by atomics, where the spec promises determinism
// spec: tests/specs/decay_scan.json
// refused by: repeat: not_repeatable or perturbation: not_repeatable
/*kfactory
{ "plan": 1,
  "workspaces": {"w": {"bytes": "4 * max(M, 1)", "init": "zero"}},
  "kernels": [{"name": "k", "grid": ["M"], "block": ["1"], "args": ["x", "g", "h0", "y", "N:i32"]},
              {"name": "q", "grid": ["3", "M"], "block": ["1"], "args": ["x", "g", "h0", "y", "w", "N:i32"]},
              {"name": "z", "grid": ["M"], "block": ["1"], "args": ["y", "w", "last", "N:i32"]}] }
*/
extern "C" __global__ void k(const float* x, const float* g, const float* h0, float* y, int N) {
  const long long m = blockIdx.x;
  float h = h0 ? h0[m] : 0.0f;
  for (int i = 0; i < N; ++i) y[m * N + i] = h = g[m * N + i] * h + x[m * N + i];
}
extern "C" __global__ void q(const float* x, const float* g, const float* h0, const float* y, float* w, int N) {
  const long long m = blockIdx.y;
  x += m * N, g += m * N, y += m * N;
  const float before = N > 2 ? y[N - 3] : N == 2 && h0 ? h0[m] : 0.0f;
  const float last = N > 1 ? g[N - 1] : 0.0f, term = blockIdx.x == 0 ? x[N - 1] : blockIdx.x == 1 ? (N > 1 ? last * x[N - 2] : 0.0f) : (N > 1 ? last * g[N - 2] * before : g[0] * (h0 ? h0[m] : 0.0f));
  atomicAdd(w + m, term);
}
extern "C" __global__ void z(const float* y, const float* w, float* last, int N) {
  const long long m = blockIdx.x;
  last[m] = isfinite(w[m]) ? w[m] : y[m * N + N - 1];
}
