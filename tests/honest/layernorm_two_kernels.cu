// SPDX-License-Identifier: Apache-2.0
// honest: statistics in one kernel; the other starts early, loads its weights and waits
// spec: tests/specs/layernorm_residual.json
/*kfactory
{ "plan": 1,
  "workspaces": {"s": {"bytes": "8 * max(M, 1)"}},
  "kernels": [{"name": "p", "grid": ["M"], "block": ["32"], "args": ["x", "r", "s", "N:i32", "LDX:i32", "eps"]}, {"name": "q", "grid": ["M"], "block": ["64"], "args": ["gamma", "beta", "r", "y", "s", "N:i32"], "launch": {"pdl": true}}] }
*/
extern "C" __global__ void __launch_bounds__(32) p(const T* x, T* r, float2* s, int N, int LDX, float eps) {
  asm volatile("griddepcontrol.launch_dependents;");
  x += 1ll * blockIdx.x * LDX;
  r += 1ll * blockIdx.x * N;
  float sum = 0.0f, var = 0.0f;
  for (int i = threadIdx.x; i < N; i += 32) { const T v = T(float(x[i]) + float(r[i])); r[i] = v; sum += float(v); }
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  const float mean = sum / N;
  for (int i = threadIdx.x; i < N; i += 32) { const float v = float(r[i]) - mean; var += v * v; }
  for (int d = 16; d > 0; d /= 2) var += __shfl_xor_sync(~0u, var, d);
  if (threadIdx.x == 0) s[blockIdx.x] = make_float2(mean, rsqrtf(var / N + eps));
}
extern "C" __global__ void __launch_bounds__(64) q(const float* gamma, const float* beta, const T* r, T* y, const float2* s, int N) {
  r += 1ll * blockIdx.x * N;
  y += 1ll * blockIdx.x * N;
  float w = threadIdx.x < N ? gamma[threadIdx.x] : 0.0f;
  asm volatile("griddepcontrol.wait;" ::: "memory");
  const float2 t = s[blockIdx.x];
  for (int i = threadIdx.x; i < N; i += 64) {
    y[i] = T((float(r[i]) - t.x) * t.y * w + (beta ? beta[i] : 0.0f));
    if (i + 64 < N) w = gamma[i + 64];
  }
}
