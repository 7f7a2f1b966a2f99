// SPDX-License-Identifier: Apache-2.0
// honest: many threads set one shared flag to one value
// spec: tests/specs/vector_add.json
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 256)"], "block": ["256"], "args": ["a", "b", "c", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, T* c, int N) {
  __shared__ int any;
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (threadIdx.x == 0) any = 0;
  __syncthreads();
  float s = 0;
  if (i < N) { s = static_cast<float>(a[i]) + static_cast<float>(b[i]); if (s > 0.5f) any = 1; }  // many threads, one value
  __syncthreads();
  if (!any && i < N) c[i] = static_cast<T>(0.0f + s);
  if (any && i < N) c[i] = static_cast<T>(s);
}
