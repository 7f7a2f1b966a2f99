// SPDX-License-Identifier: Apache-2.0
// cheat: wide stores to y are decided by the alignment of x alone
// spec: tests/specs/rmsnorm.json
// refused by: check: checker
// on cuda: check: illegal_access
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["M"], "block": ["32"], "args": ["x", "w", "y", "N:i32", "LDX:i32", "eps"]}] }
*/
extern "C" __global__ void __launch_bounds__(32) k(const T* x, const float* w, T* y, int N, int LDX, float eps) {
  const bool wide = reinterpret_cast<unsigned long long>(x) % 16 == 0 && N % 8 == 0;
  x += 1ll * blockIdx.x * LDX;
  y += 1ll * blockIdx.x * N;
  float sum = 0.0f;
  for (int i = threadIdx.x; i < N; i += 32) sum += static_cast<float>(x[i]) * static_cast<float>(x[i]);
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  const float rstd = rsqrtf(sum / N + eps);
  constexpr int kEach = 16 / sizeof(T);
  for (int first = kEach * threadIdx.x; wide && first < N; first += 32 * kEach) {
    alignas(16) T made[kEach];
    for (int i = 0; i < kEach; ++i) made[i] = static_cast<T>(static_cast<float>(x[first + i]) * rstd * w[first + i]);
    *reinterpret_cast<uint4*>(y + first) = *reinterpret_cast<const uint4*>(made);
  }
  for (int i = threadIdx.x; !wide && i < N; i += 32) y[i] = static_cast<T>(static_cast<float>(x[i]) * rstd * w[i]);
}
