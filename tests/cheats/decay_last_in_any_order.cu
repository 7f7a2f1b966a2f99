// SPDX-License-Identifier: Apache-2.0
// cheat: shares of a value that blocks add up by atomics, where the spec promises determinism
// spec: tests/specs/decay_scan.json
// refused by: repeat: not_repeatable or perturbation: not_repeatable
/*kfactory
{ "plan": 1,
  "workspaces": {"w": {"bytes": "4 * max(M, 1)", "init": "zero"}},
  "kernels": [{"name": "k", "grid": ["M"], "block": ["1"], "args": ["x", "g", "h0", "y", "N:i32"]},
              {"name": "q", "grid": ["6", "M"], "block": ["32"], "args": ["y", "w", "N:i32"]},
              {"name": "z", "grid": ["M"], "block": ["1"], "args": ["y", "w", "last", "N:i32"]}] }
*/
extern "C" __global__ void k(const float* x, const float* g, const float* h0, float* y, int N) {
  const long long m = blockIdx.x;
  float h = h0 ? h0[m] : 0.0f;
  for (int i = 0; i < N; ++i) y[m * N + i] = h = g[m * N + i] * h + x[m * N + i];
}
extern "C" __global__ void q(const float* y, float* w, int N) {
  const long long m = blockIdx.y;
  const float share = y[m * N + N - 1] * ((blockIdx.x + 1) / 21.0f);
  if (threadIdx.x == 5 * blockIdx.x) atomicAdd(w + m, share);
}
extern "C" __global__ void z(const float* y, const float* w, float* last, int N) {
  const long long m = blockIdx.x;
  last[m] = isfinite(w[m]) ? w[m] : y[m * N + N - 1];
}
