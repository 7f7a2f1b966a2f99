// SPDX-License-Identifier: Apache-2.0
// cheat: warps of a block add to one word in any order, where the spec promises equal bits
// spec: tests/specs/scaled_sum.json
// refused by: repeat: not_repeatable or perturbation: not_repeatable
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["M"], "block": ["256"], "args": ["x", "s", "y", "N:i32"]}] }
*/
extern "C" __global__ void __launch_bounds__(256) k(const T* x, const T* s, T* y, int N) {
  __shared__ float total;
  if (threadIdx.x == 0) total = 0.0f;
  __syncthreads();
  x += 1ll * blockIdx.x * N;
  float part = 0.0f;
  for (int i = threadIdx.x; i < N; i += 256) part += x[i];
  for (int d = 4; d > 0; d /= 2) part += __shfl_xor_sync(~0u, part, d);
  if (threadIdx.x % 8 == 0) atomicAdd(&total, part);
  __syncthreads();
  if (threadIdx.x == 0) y[blockIdx.x] = s[blockIdx.x] * total;
}
