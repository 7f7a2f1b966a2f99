// SPDX-License-Identifier: Apache-2.0
// honest: chunks in blocks, the state handed on under flags that are put back
// spec: tests/specs/decay_scan.json
/*kfactory
{ "plan": 1,
  "workspaces": {"flag": {"bytes": "4 * M * ceil_div(N, 64)", "init": "zero_restored"}, "state": {"bytes": "4 * M * ceil_div(N, 64)"}},
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 64)", "M"], "block": ["32"], "args": ["x", "g", "h0", "y", "last", "flag", "state", "N:i32"]}] }
*/
extern "C" __global__ void __launch_bounds__(32) k(const float* x, const float* g, const float* h0, float* y, float* last, unsigned* flag, float* state, int N) {
  const long long m = blockIdx.y;
  const int c = blockIdx.x, tiles = gridDim.x;
  if (threadIdx.x != 0) return;
  flag += m * tiles;
  state += m * tiles;
  float h = h0 ? h0[m] : 0.0f;
  if (c > 0) {
    while (atomicAdd(flag + c - 1, 0u) == 0u) __nanosleep(50);
    __threadfence();
    h = *static_cast<volatile float*>(state + c - 1);
    atomicExch(flag + c - 1, 0u);
  }
  for (int i = c * 64; i < min(N, c * 64 + 64); ++i) y[m * N + i] = h = g[m * N + i] * h + x[m * N + i];
  if (c + 1 < tiles) {
    *static_cast<volatile float*>(state + c) = h;
    __threadfence();
    atomicExch(flag + c, 1u);
  } else {
    last[m] = h;
  }
}
