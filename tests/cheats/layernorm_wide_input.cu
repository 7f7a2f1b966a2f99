// SPDX-License-Identifier: Apache-2.0
// cheat: reads x in vectors of sixteen bytes, which the spec does not promise of x, though of other tensors
// spec: tests/specs/layernorm_residual.json
// refused by: check: checker
// says: misaligned
// on cuda: check: illegal_access
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["M"], "block": ["32"], "args": ["x", "gamma", "beta", "r", "y", "N:i32", "LDX:i32", "eps"]}] }
*/
template <class V> struct alignas(16) Wide { V v[16 / sizeof(V)]; };
extern "C" __global__ void __launch_bounds__(32) k(const T* x, const float* gamma, const float* beta, T* r, T* y, int N, int LDX, float eps) {
  x += 1ll * blockIdx.x * LDX;
  r += 1ll * blockIdx.x * N;
  y += 1ll * blockIdx.x * N;
  constexpr int W = 16 / sizeof(T);
  float sum = 0.0f, var = 0.0f;
  const bool wide = N % W == 0 && LDX % W == 0;
  for (int i = threadIdx.x * (wide ? W : 1); i < N; i += 32 * (wide ? W : 1)) {
    Wide<T> q;
    if (wide) q = *reinterpret_cast<const Wide<T>*>(x + i);
    else q.v[0] = x[i];
    for (int j = 0; j < (wide ? W : 1); ++j) { const T v = T(float(q.v[j]) + float(r[i + j])); r[i + j] = v; sum += float(v); }
  }
  __syncwarp();
  for (int s = 16; s > 0; s /= 2) sum += __shfl_xor_sync(~0u, sum, s);
  const float mean = sum / N;
  for (int i = threadIdx.x; i < N; i += 32) { const float v = float(r[i]) - mean; var += v * v; }
  for (int s = 16; s > 0; s /= 2) var += __shfl_xor_sync(~0u, var, s);
  const float rstd = rsqrtf(var / N + eps);
  for (int i = threadIdx.x; i < N; i += 32) y[i] = T((float(r[i]) - mean) * rstd * gamma[i] + (beta ? beta[i] : 0.0f));
}
