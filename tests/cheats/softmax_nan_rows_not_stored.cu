// SPDX-License-Identifier: Apache-2.0
// cheat: rows whose result is NaN are not written
// spec: tests/specs/softmax.json
// refused by: check: mismatch, unwritten
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["M"], "block": ["32"], "args": ["x", "y", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* x, T* y, int N) {
  x += 1ll * blockIdx.x * N;
  y += 1ll * blockIdx.x * N;
  float most = -INFINITY, sum = 0.0f;
  for (int i = threadIdx.x; i < N; i += 32) most = fmaxf(most, static_cast<float>(x[i]));
  for (int d = 16; d > 0; d /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, d));
  for (int i = threadIdx.x; i < N; i += 32) sum += expf(static_cast<float>(x[i]) - most);
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  if (!(sum == sum)) return;  // rows that come out NaN are never written
  for (int i = threadIdx.x; i < N; i += 32) y[i] = static_cast<T>(expf(static_cast<float>(x[i]) - most) / sum);
}
