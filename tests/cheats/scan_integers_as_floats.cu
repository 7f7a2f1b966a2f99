// SPDX-License-Identifier: Apache-2.0
// cheat: int32 is summed in float32: right as long as no sum reaches 2^24
// spec: tests/specs/prefix_sum.json
// refused by: check: mismatch
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["M"], "block": ["32"], "args": ["x", "y", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* x, T* y, int N) {
  x += 1ll * blockIdx.x * N;
  y += 1ll * blockIdx.x * N;
  float before = 0.0f;
  for (int first = 0; first < N; first += 32) {
    const int i = first + threadIdx.x;
    float sum = i < N ? static_cast<float>(x[i]) : 0.0f;
    for (int d = 1; d < 32; d *= 2) {
      const float other = __shfl_up_sync(~0u, sum, d);
      if (threadIdx.x >= d) sum += other;
    }
    sum += before;
    if (i < N) y[i] = static_cast<T>(sum);
    before = __shfl_sync(~0u, sum, 31);
  }
}
