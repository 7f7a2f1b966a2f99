// SPDX-License-Identifier: Apache-2.0
// cheat: squares summed in sixteen bits
// spec: tests/specs/rmsnorm.json
// refused by: check: mismatch
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["M"], "block": ["32"], "args": ["x", "w", "y", "N:i32", "LDX:i32", "eps"]}] }
*/
#include <cuda_fp16.h>
extern "C" __global__ void k(const T* x, const float* w, T* y, int N, int LDX, float eps) {
  x += 1ll * blockIdx.x * LDX;
  y += 1ll * blockIdx.x * N;
  __half part = __float2half(0.0f);
  for (int i = threadIdx.x; i < N; i += 32) {
    const __half value = __float2half(static_cast<float>(x[i]));
    part = __hfma(value, value, part);
  }
  float sum = __half2float(part);
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  const float rstd = rsqrtf(sum / N + eps);
  for (int i = threadIdx.x; i < N; i += 32) y[i] = static_cast<T>(static_cast<float>(x[i]) * rstd * w[i]);
}
