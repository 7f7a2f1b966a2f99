// SPDX-License-Identifier: Apache-2.0
// honest: short rows stay in registers; a define picks another way for long ones
// spec: tests/specs/softmax.json
/*kfactory
{ "plan": 1,
  "define": {"LONG": "N > 1024"},
  "kernels": [{"name": "k", "grid": ["M"], "block": ["256"], "args": ["x", "y", "N:i32"]}] }
*/
__device__ float all(float v, bool add, float* s) {
  for (int d = 16; d > 0; d /= 2) { const float o = __shfl_xor_sync(~0u, v, d); v = add ? v + o : (v != v || o != o ? NAN : fmaxf(v, o)); }
  if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = v;
  __syncthreads();
  v = s[0];
  for (int w = 1; w < 8; ++w) { const float o = s[w]; v = add ? v + o : (v != v || o != o ? NAN : fmaxf(v, o)); }
  __syncthreads();
  return v;
}
extern "C" __global__ void __launch_bounds__(256) k(const T* x, T* y, int N) {
  __shared__ float s[8];
  x += 1ll * blockIdx.x * N;
  y += 1ll * blockIdx.x * N;
  float v[4], most = -INFINITY, sum = 0.0f;
  if constexpr (LONG == 0) {
#pragma unroll
    for (int j = 0; j < 4; ++j) { const int i = threadIdx.x + 256 * j; v[j] = i < N ? float(x[i]) : -INFINITY; most = v[j] != v[j] || most != most ? NAN : fmaxf(most, v[j]); }
    most = all(most, false, s);
#pragma unroll
    for (int j = 0; j < 4; ++j) { v[j] = threadIdx.x + 256 * j < N ? expf(v[j] - most) : 0.0f; sum += v[j]; }
    sum = all(sum, true, s);
#pragma unroll
    for (int j = 0; j < 4; ++j) if (threadIdx.x + 256 * j < N) y[threadIdx.x + 256 * j] = T(v[j] / sum);
  } else {
    for (int i = threadIdx.x; i < N; i += 256) { const float u = float(x[i]); most = u != u || most != most ? NAN : fmaxf(most, u); }
    most = all(most, false, s);
    for (int i = threadIdx.x; i < N; i += 256) sum += expf(float(x[i]) - most);
    sum = all(sum, true, s);
    for (int i = threadIdx.x; i < N; i += 256) y[i] = T(expf(float(x[i]) - most) / sum);
  }
}
