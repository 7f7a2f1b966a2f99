// SPDX-License-Identifier: Apache-2.0
// honest: float32 as three bfloat16 parts each: six products, as accurate as one float32 product
// spec: tests/specs/matmul.json
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 64)", "ceil_div(M, 8)"], "block": ["32", "8"], "args": ["a", "b", "c", "M:i32", "N:i32", "K:i32", "LDA:i32"]}] }
*/
struct Parts {
  float high, middle, low;
};
__device__ Parts split(float value) {
  // Rounded: cut off, the rest is so large that at K = 1 the products left out are missed.
  const float high = __uint_as_float((__float_as_uint(value) + 0x8000u) & 0xffff0000u);
  const float middle = __uint_as_float(__float_as_uint(value - high) & 0xffff0000u);
  return {high, middle, value - high - middle};
}
extern "C" __global__ void k(const T* a, const T* b, T* c, int M, int N, int K, int LDA) {
  const int column = blockIdx.x * 64 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
  if (row >= M || column >= N) return;
  const int other = column + 32 < N ? 32 : 0;
  float sum[2] = {}, small[2] = {};
  for (int i = 0; i < K; ++i) {
    const Parts x = split(static_cast<float>(a[row * LDA + i]));
    for (int j = 0; j < 2; ++j) {
      const Parts y = split(static_cast<float>(b[i * N + column + j * other]));
      sum[j] += x.high * y.high;
      small[j] += x.high * y.middle + x.middle * y.high;
      small[j] += x.middle * y.middle + (x.high * y.low + x.low * y.high);
    }
  }
  c[row * N + column] = static_cast<T>(sum[0] + small[0]);
  if (other != 0) c[row * N + column + 32] = static_cast<T>(sum[1] + small[1]);
}
