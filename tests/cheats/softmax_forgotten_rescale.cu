// SPDX-License-Identifier: Apache-2.0
// cheat: an online sum that is not scaled when the maximum grows
// spec: tests/specs/softmax.json
// refused by: check: mismatch
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(M, 32)"], "block": ["32"], "args": ["x", "y", "M:i32", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* x, T* y, int M, int N) {
  const int row = blockIdx.x * 32 + threadIdx.x;
  if (row >= M) return;
  float most = -INFINITY, sum = 0.0f;
  for (int i = 0; i < N; ++i) {
    most = fmaxf(most, static_cast<float>(x[1ll * row * N + i]));
    sum += expf(static_cast<float>(x[1ll * row * N + i]) - most);
  }
  for (int i = 0; i < N; ++i) y[1ll * row * N + i] = static_cast<T>(expf(static_cast<float>(x[1ll * row * N + i]) - most) / sum);
}
