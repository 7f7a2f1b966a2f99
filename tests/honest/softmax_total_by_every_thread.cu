// SPDX-License-Identifier: Apache-2.0
// honest: all lanes of a warp, and all threads of a block, write one value to one shared word
// spec: tests/specs/softmax.json
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["M"], "block": ["128"], "args": ["x", "y", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* x, T* y, int N) {
  __shared__ float total, part[4];
  x += 1ll * blockIdx.x * N;
  y += 1ll * blockIdx.x * N;
  float most = -INFINITY, sum = 0.0f;
  for (int i = threadIdx.x; i < N; i += 128) most = fmaxf(most, static_cast<float>(x[i]));
  for (int d = 16; d > 0; d /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, d));
  part[threadIdx.x / 32] = most;   // all lanes of a warp write one value
  __syncthreads();
  most = fmaxf(fmaxf(part[0], part[1]), fmaxf(part[2], part[3]));
  __syncthreads();
  for (int i = threadIdx.x; i < N; i += 128) sum += expf(static_cast<float>(x[i]) - most);
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  part[threadIdx.x / 32] = sum;
  __syncthreads();
  total = (part[0] + part[1]) + (part[2] + part[3]);  // all threads of the block write one value
  __syncthreads();
  for (int i = threadIdx.x; i < N; i += 128) y[i] = static_cast<T>(expf(static_cast<float>(x[i]) - most) / total);
}
