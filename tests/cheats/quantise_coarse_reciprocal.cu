// SPDX-License-Identifier: Apache-2.0
// cheat: the reciprocal has the eight bits of bfloat16
// spec: tests/specs/quantise.json
// refused by: check: mismatch
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["M"], "block": ["128"], "args": ["x", "q", "scale", "N:i32"]}] }
*/
extern "C" __global__ void __launch_bounds__(128) k(const T* x, signed char* q, float* scale, int N) {
  __shared__ float largest[4];
  x += 1ll * blockIdx.x * N;
  q += 1ll * blockIdx.x * N;
  float mine = 0.0f;
  for (int i = threadIdx.x; i < N; i += 128) mine = fmaxf(mine, fabsf(static_cast<float>(x[i])));
  for (int d = 16; d > 0; d /= 2) mine = fmaxf(mine, __shfl_xor_sync(~0u, mine, d));
  if (threadIdx.x % 32 == 0) largest[threadIdx.x / 32] = mine;
  __syncthreads();
  mine = fmaxf(fmaxf(largest[0], largest[1]), fmaxf(largest[2], largest[3]));
  const float s = mine == 0.0f ? 1.0f : mine / 127.0f;
  const float inverse = mine == 0.0f ? 1.0f : 127.0f / mine;
  if (threadIdx.x == 0) scale[blockIdx.x] = s;
  for (int i = threadIdx.x; i < N; i += 128) {
    q[i] = static_cast<signed char>(__float2int_rn(static_cast<float>(x[i]) * __uint_as_float(__float_as_uint(inverse) & 0xffff0000u)));
  }
}
