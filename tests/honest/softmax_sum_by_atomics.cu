// SPDX-License-Identifier: Apache-2.0
// honest: block sums by atomics: the order of additions varies from run to run
// spec: tests/specs/softmax.json
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["M"], "block": ["128"], "args": ["x", "y", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* x, T* y, int N) {
  __shared__ float sum;
  __shared__ int most_bits;
  x += 1ll * blockIdx.x * N;
  y += 1ll * blockIdx.x * N;
  if (threadIdx.x == 0) {
    sum = 0.0f;
    most_bits = 0x80000000;
  }
  __syncthreads();
  // Floats as ordered integers; NaN is above all.
  const auto key = [](float value) {
    const int bits = __float_as_int(value != value ? NAN : value);
    return bits < 0 ? bits ^ 0x7fffffff : bits;
  };
  for (int i = threadIdx.x; i < N; i += 128) atomicMax(&most_bits, key(static_cast<float>(x[i])));
  __syncthreads();
  const float most = __int_as_float(most_bits < 0 ? most_bits ^ 0x7fffffff : most_bits);
  float part = 0.0f;
  for (int i = threadIdx.x; i < N; i += 128) part += expf(static_cast<float>(x[i]) - most);
  for (int d = 16; d > 0; d /= 2) part += __shfl_xor_sync(~0u, part, d);
  if (threadIdx.x % 32 == 0) atomicAdd(&sum, part);
  __syncthreads();
  for (int i = threadIdx.x; i < N; i += 128) y[i] = static_cast<T>(expf(static_cast<float>(x[i]) - most) / sum);
}
