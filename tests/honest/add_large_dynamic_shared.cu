// SPDX-License-Identifier: Apache-2.0
// honest: 96 KiB of dynamic shared memory, most of it unused where there is little to do
// spec: tests/specs/vector_add.json
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 12288)"], "block": ["256"], "shared": "98304", "args": ["a", "b", "c", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, T* c, int N) {
  extern __shared__ float tile[];  // 12288 elements of a, then those of b
  const int first = blockIdx.x * 12288;
  for (int i = threadIdx.x; i < 12288 && first + i < N; i += 256) {
    tile[i] = static_cast<float>(a[first + i]);
    tile[12288 + i] = static_cast<float>(b[first + i]);
  }
  __syncthreads();
  for (int i = 255 - threadIdx.x; i < 12288 && first + i < N; i += 256) c[first + i] = static_cast<T>(tile[i] + tile[12288 + i]);
}
