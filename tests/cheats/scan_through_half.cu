// SPDX-License-Identifier: Apache-2.0
// cheat: integers and floats summed with eleven bits
// spec: tests/specs/prefix_sum.json
// refused by: check: mismatch
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["M"], "block": ["32"], "args": ["x", "y", "N:i32"]}] }
*/
#include <cuda_fp16.h>
extern "C" __global__ void k(const T* x, T* y, int N) {
  if (threadIdx.x != 0) return;
  __half sum = __float2half(0.0f);
  for (int i = 0; i < N; ++i) {
    sum = __hadd(sum, __float2half(static_cast<float>(x[1ll * blockIdx.x * N + i])));
    y[1ll * blockIdx.x * N + i] = static_cast<T>(__half2float(sum));
  }
}
