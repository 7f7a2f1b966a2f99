// SPDX-License-Identifier: Apache-2.0
// cheat: rows of odd length are computed by one thread each, which sums anew for every 8th element
// spec: tests/specs/rmsnorm.json
// refused by: cliffs: cliff
// options: --confirm
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["M"], "block": ["32"], "args": ["x", "w", "y", "N:i32", "LDX:i32", "eps"]}] }
*/
extern "C" __global__ void __launch_bounds__(32) k(const T* x, const float* w, T* y, int N, int LDX, float eps) {
  x += 1ll * blockIdx.x * LDX;
  y += 1ll * blockIdx.x * N;
  const int threads = N % 2 == 0 || N > 1000 ? 32 : 1;
  float rstd = 0.0f;
#pragma unroll 1
  for (int i = threadIdx.x; threadIdx.x < threads && i < N; i += threads) {
    if (i == threadIdx.x || (threads == 1 && i % 8 == 0)) {
      float sum = 0.0f;
#pragma unroll 1
      for (int first = 0; first < N; first += 32) {
        float part = 0.0f;
        for (int j = first + threadIdx.x; j < min(N, first + 32); j += threads) part += static_cast<float>(x[j]) * static_cast<float>(x[j]);
        sum += part;
      }
      for (int d = threads / 2; d > 0; d /= 2) sum += __shfl_xor_sync(N < 32 && threads == 32 ? (1u << N) - 1 : ~0u, sum, d);
      rstd = rsqrtf(sum / N + eps);
    }
    y[i] = static_cast<T>(static_cast<float>(x[i]) * rstd * w[i]);
  }
}
