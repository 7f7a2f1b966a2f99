// SPDX-License-Identifier: Apache-2.0
// cheat: rows are right in the path for the last tile, and share one mean in whole tiles of 16
// spec: tests/specs/rmsnorm.json
// refused by: check: mismatch
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(M, 16)"], "block": ["32"], "args": ["x", "w", "y", "M:i32", "N:i32", "LDX:i32", "eps"]}] }
*/
extern "C" __global__ void __launch_bounds__(32) k(const T* x, const float* w, T* y, int M, int N, int LDX, float eps) {
  const int first = blockIdx.x * 16, last = min(M, first + 16);
  float rstd = 0.0f;
  for (int row = first; row < last; ++row) {
    if (last - first < 16 || row == first) {
      float sum = 0.0f;
      for (int i = threadIdx.x; i < N; i += 32) {
        const float value = static_cast<float>(x[1ll * row * LDX + i]);
        sum += value * value;
      }
      for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
      rstd = rsqrtf(sum / N + eps);
    }
    for (int i = threadIdx.x; i < N; i += 32) y[1ll * row * N + i] = static_cast<T>(static_cast<float>(x[1ll * row * LDX + i]) * rstd * w[i]);
  }
}
