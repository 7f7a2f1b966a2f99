// SPDX-License-Identifier: Apache-2.0
// cheat: right for every N that the spec lists; other sums leave out every second element
// spec: tests/specs/softmax.json
// refused by: confirm: mismatch or cliffs: mismatch
// options: --confirm
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["M"], "block": ["32"], "args": ["x", "y", "N:i32"]}] }
*/
__device__ bool listed(int n) {
  return n == 1 || n == 33 || n == 40 || n == 127 || n == 128 || n == 256 || n == 512 || n == 1000 || n >= 4096;
}
extern "C" __global__ void __launch_bounds__(32) k(const T* x, T* y, int N) {
  x += 1ll * blockIdx.x * N;
  y += 1ll * blockIdx.x * N;
  float most = -INFINITY;
  bool nan = false;
  for (int i = threadIdx.x; i < N; i += 32) {
    most = fmaxf(most, static_cast<float>(x[i]));
    nan = nan || static_cast<float>(x[i]) != static_cast<float>(x[i]);
  }
  for (int d = 16; d > 0; d /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, d));
  if (__any_sync(~0u, nan)) most = NAN;
  const int step = listed(N) ? 1 : 2;
  float sum = 0.0f;
  for (int i = step * threadIdx.x; i < N; i += step * 32) sum += step * expf(static_cast<float>(x[i]) - most);
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  for (int i = threadIdx.x; i < N; i += 32) y[i] = static_cast<T>(expf(static_cast<float>(x[i]) - most) / sum);
}
