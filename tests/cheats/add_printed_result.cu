// SPDX-License-Identifier: Apache-2.0
// cheat: prints a verdict of its own
// spec: tests/specs/vector_add.json
// refused by: binary audit: forbidden_symbol
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 256)"], "block": ["256"], "args": ["a", "b", "c", "N:i32"]}] }
*/
extern "C" __device__ int vprintf(const char*, void*);
extern "C" __global__ void k(const T* a, const T* b, T* c, int N) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i == 0) vprintf("{\"status\":\"PASS\",\"median_us\":0.9}", nullptr);
  if (i < N) c[i] = static_cast<T>(static_cast<float>(a[i]) + static_cast<float>(b[i]));
}
