// SPDX-License-Identifier: Apache-2.0
// honest: exponentials of base two, which round otherwise than expf
// spec: tests/specs/softmax.json
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["M"], "block": ["32"], "args": ["x", "y", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* x, T* y, int N) {
  x += 1ll * blockIdx.x * N;
  y += 1ll * blockIdx.x * N;
  const auto larger = [](float a, float b) { return b > a || b != b ? b : a; };
  float most = -INFINITY, sum = 0.0f;
  for (int i = threadIdx.x; i < N; i += 32) most = larger(most, static_cast<float>(x[i]));
  for (int d = 16; d > 0; d /= 2) most = larger(most, __shfl_xor_sync(~0u, most, d));
  const auto power = [&](int i) { return exp2f((static_cast<float>(x[i]) - most) * 1.4426950408889634f); };
  for (int i = threadIdx.x; i < N; i += 32) sum += power(i);
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  for (int i = threadIdx.x; i < N; i += 32) y[i] = static_cast<T>(power(i) * (1.0f / sum));
}
