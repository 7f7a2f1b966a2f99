// SPDX-License-Identifier: Apache-2.0
// cheat: float32 exponentials in sixteen bits
// spec: tests/specs/softmax.json
// refused by: check: mismatch
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["M"], "block": ["32"], "args": ["x", "y", "N:i32"]}] }
*/
#include <cuda_fp16.h>
extern "C" __global__ void k(const T* x, T* y, int N) {
  x += 1ll * blockIdx.x * N;
  y += 1ll * blockIdx.x * N;
  const auto larger = [](float a, float b) { return b > a || b != b ? b : a; };
  float most = -INFINITY, sum = 0.0f;
  for (int i = threadIdx.x; i < N; i += 32) most = larger(most, static_cast<float>(x[i]));
  for (int d = 16; d > 0; d /= 2) most = larger(most, __shfl_xor_sync(~0u, most, d));
  const auto e = [&](int i) { return __half2float(__float2half(expf(static_cast<float>(x[i]) - most))); };
  for (int i = threadIdx.x; i < N; i += 32) sum += e(i);
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  for (int i = threadIdx.x; i < N; i += 32) y[i] = static_cast<T>(e(i) / sum);
}
