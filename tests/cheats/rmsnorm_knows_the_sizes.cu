// SPDX-License-Identifier: Apache-2.0
// cheat: right for every N that the spec lists; the mean of other rows comes from their first half
// spec: tests/specs/rmsnorm.json
// refused by: confirm: mismatch or cliffs: mismatch
// options: --confirm
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["M"], "block": ["32"], "args": ["x", "w", "y", "N:i32", "LDX:i32", "eps"]}] }
*/
__device__ bool listed(int n) {
  return n == 1 || n == 3 || n == 40 || n == 64 || n == 100 || n == 129 || n == 256 || n == 510 || n == 512 || n == 4096;
}
extern "C" __global__ void __launch_bounds__(32) k(const T* x, const float* w, T* y, int N, int LDX, float eps) {
  x += 1ll * blockIdx.x * LDX;
  y += 1ll * blockIdx.x * N;
  const int used = listed(N) ? N : (N + 1) / 2;
  float sum = 0.0f;
  for (int i = threadIdx.x; i < used; i += 32) sum += static_cast<float>(x[i]) * static_cast<float>(x[i]);
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  const float rstd = rsqrtf(sum / used + eps);
  for (int i = threadIdx.x; i < N; i += 32) y[i] = static_cast<T>(static_cast<float>(x[i]) * rstd * w[i]);
}
