// SPDX-License-Identifier: Apache-2.0
// cheat: an element of +Inf takes the whole row instead of making it NaN
// spec: tests/specs/softmax.json
// refused by: check: mismatch
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["M"], "block": ["32"], "args": ["x", "y", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* x, T* y, int N) {
  x += 1ll * blockIdx.x * N;
  y += 1ll * blockIdx.x * N;
  const auto away = [](float value, float most) { return value == INFINITY ? 0.0f : value - most; };
  float most = -INFINITY, sum = 0.0f;
  bool nan = false;
  for (int i = threadIdx.x; i < N; i += 32) {
    most = fmaxf(most, static_cast<float>(x[i]));
    nan = nan || static_cast<float>(x[i]) != static_cast<float>(x[i]);
  }
  for (int d = 16; d > 0; d /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, d));
  if (__any_sync(~0u, nan)) most = NAN;
  for (int i = threadIdx.x; i < N; i += 32) sum += expf(away(static_cast<float>(x[i]), most));
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  for (int i = threadIdx.x; i < N; i += 32) y[i] = static_cast<T>(expf(away(static_cast<float>(x[i]), most)) / sum);
}
