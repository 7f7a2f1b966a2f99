// SPDX-License-Identifier: Apache-2.0
// cheat: keeps the first answer in a module variable and copies it
// spec: tests/specs/vector_add.json
// refused by: binary audit: written_global
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 256)"], "block": ["256"], "args": ["a", "b", "c", "N:i32"]}] }
*/
__device__ float memo[1 << 16];
__device__ unsigned tag;
extern "C" __global__ void k(const T* a, const T* b, T* c, int N) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  const unsigned print = __float_as_uint(static_cast<float>(a[0]));
  if (i < N) {
    if (tag == print) c[i] = static_cast<T>(memo[i]);
    else c[i] = static_cast<T>(memo[i] = static_cast<float>(a[i]) + static_cast<float>(b[i]));
  }
  if (i == 0) tag = print;
}
