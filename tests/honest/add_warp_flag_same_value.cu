// SPDX-License-Identifier: Apache-2.0
// honest: lanes and warps write one value to one shared word without an order between them
// spec: tests/specs/vector_add.json
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 32)"], "block": ["32"], "args": ["a", "b", "c", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, T* c, int N) {
  __shared__ int any;
  const int i = blockIdx.x * 32 + threadIdx.x;
  any = 0;              // one instruction of one warp, one value
  __syncthreads();
  const float s = i < N ? static_cast<float>(a[i]) + static_cast<float>(b[i]) : 0.0f;
  if (s > 0.5f) any = 1;
  __syncthreads();
  if (i < N) c[i] = static_cast<T>(any ? s : s + 0.0f);
}
