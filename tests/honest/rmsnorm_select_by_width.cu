// SPDX-License-Identifier: Apache-2.0
// honest: select and the base decide on vectors of four
// spec: tests/specs/rmsnorm.json
/*kfactory
{ "plan": 1, "tune": {"WIDE": [0, 1]},
  "select": [{"when": "N % 4 == 0 && LDX % 4 == 0", "set": {"WIDE": 1}}, {"set": {"WIDE": 0}}],
  "kernels": [{"name": "k", "grid": ["M"], "block": ["32"], "args": ["x", "w", "y", "N:i32", "LDX:i32", "eps"]}] }
*/
extern "C" __global__ void __launch_bounds__(32) k(const T* x, const float* w, T* y, int N, int LDX, float eps) {
  x += 1ll * blockIdx.x * LDX;
  y += 1ll * blockIdx.x * N;
  float sum = 0.0f;
  struct alignas(4 * sizeof(T)) Q { T t[4]; };
  if (WIDE && (reinterpret_cast<unsigned long long>(x) % sizeof(Q)) == 0) {
    for (int i = threadIdx.x; i < N / 4; i += 32) { const Q q = reinterpret_cast<const Q*>(x)[i]; for (int j = 0; j < 4; ++j) sum += float(q.t[j]) * float(q.t[j]); }
  } else {
    for (int i = threadIdx.x; i < N; i += 32) sum += float(x[i]) * float(x[i]);
  }
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  const float rstd = rsqrtf(sum / N + eps);
  for (int i = threadIdx.x; i < N; i += 32) y[i] = T(float(x[i]) * rstd * w[i]);
}
