// SPDX-License-Identifier: Apache-2.0
// cheat: right for every eps that the spec lists; any other is taken for the usual one
// spec: tests/specs/rmsnorm.json
// refused by: confirm: mismatch
// options: --confirm
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["M"], "block": ["32"], "args": ["x", "w", "y", "N:i32", "LDX:i32", "eps"]}] }
*/
extern "C" __global__ void __launch_bounds__(32) k(const T* x, const float* w, T* y, int N, int LDX, float eps) {
  x += 1ll * blockIdx.x * LDX;
  y += 1ll * blockIdx.x * N;
  const bool listed = eps == 1e-6f || eps == 0.01f || eps == 3.0f;
  float sum = 0.0f;
  for (int i = threadIdx.x; i < N; i += 32) sum += static_cast<float>(x[i]) * static_cast<float>(x[i]);
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  const float rstd = rsqrtf(sum / N + (listed ? eps : 1e-6f));
  for (int i = threadIdx.x; i < N; i += 32) y[i] = static_cast<T>(static_cast<float>(x[i]) * rstd * w[i]);
}
