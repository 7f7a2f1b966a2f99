// SPDX-License-Identifier: Apache-2.0
// honest: exponentials are kept in the output and scaled there
// spec: tests/specs/softmax.json
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["M"], "block": ["32"], "args": ["x", "y", "N:i32"]}] }
*/
extern "C" __global__ void __launch_bounds__(32) k(const T* x, T* y, int N) {
  x += 1ll * blockIdx.x * N;
  y += 1ll * blockIdx.x * N;
  float most = -INFINITY, sum = 0.0f;
  bool nan = false;
  for (int i = threadIdx.x; i < N; i += 32) { most = fmaxf(most, float(x[i])); nan = nan || float(x[i]) != float(x[i]); }
  for (int d = 16; d > 0; d /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, d));
  if (__any_sync(~0u, nan)) most = NAN;
  for (int i = threadIdx.x; i < N; i += 32) { const float e = expf(float(x[i]) - most); sum += e; if (sizeof(T) == 4) y[i] = T(e); }
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  for (int i = threadIdx.x; i < N; i += 32) y[i] = T((sizeof(T) == 4 ? float(y[i]) : expf(float(x[i]) - most)) / sum);
}
