// SPDX-License-Identifier: Apache-2.0
// honest: more blocks than there is work for: whole blocks and whole warps leave at once
// spec: tests/specs/vector_add.json
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 256) + 7"], "block": ["256"], "args": ["a", "b", "c", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, T* c, int N) {
  __shared__ float tile[256];
  const int first = blockIdx.x * 256, i = first + threadIdx.x;
  if (first >= N) return;
  tile[threadIdx.x] = i < N ? static_cast<float>(a[i]) : 0.0f;
  __syncthreads();
  if (first + threadIdx.x / 32 * 32 >= N) return;
  if (i < N) c[i] = static_cast<T>(tile[threadIdx.x] + static_cast<float>(b[i]));
}
