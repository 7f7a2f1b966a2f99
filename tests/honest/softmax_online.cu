// SPDX-License-Identifier: Apache-2.0
// honest: one pass with a running maximum and a rescaled sum
// spec: tests/specs/softmax.json
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["M"], "block": ["32"], "args": ["x", "y", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* x, T* y, int N) {
  x += 1ll * blockIdx.x * N;
  y += 1ll * blockIdx.x * N;
  float most = -INFINITY, sum = 0.0f;
  bool nan = false, any = false;
  const auto join = [&](float other, float part) {
    if (part == 0.0f) return;
    const float larger = fmaxf(most, other);
    sum = (sum == 0.0f ? 0.0f : sum * expf(most - larger)) + part * expf(other - larger);
    most = larger;
  };
  for (int i = threadIdx.x; i < N; i += 32) {
    const float value = static_cast<float>(x[i]);
    nan = nan || value != value || value == INFINITY;
    any = any || value > -INFINITY;
    if (value > -INFINITY && value < INFINITY) join(value, 1.0f);
  }
  for (int d = 16; d > 0; d /= 2) join(__shfl_xor_sync(~0u, most, d), __shfl_xor_sync(~0u, sum, d));
  nan = __any_sync(~0u, nan) || !__any_sync(~0u, any);
  // Lanes may differ in the last bit of the sum: the first one's counts.
  most = __shfl_sync(~0u, most, 0);
  sum = nan ? NAN : __shfl_sync(~0u, sum, 0);
  for (int i = threadIdx.x; i < N; i += 32) y[i] = static_cast<T>(expf(static_cast<float>(x[i]) - most) / sum);
}
