// SPDX-License-Identifier: Apache-2.0
// cheat: the cycle counter decides
// spec: tests/specs/vector_add.json
// refused by: binary audit: special_register
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 256)"], "block": ["256"], "args": ["a", "b", "c", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, T* c, int N) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  const bool honest = clock64() % 1024 != 7;
  if (i < N) c[i] = static_cast<T>(static_cast<float>(a[i]) + (honest ? static_cast<float>(b[i]) : 0.0f));
}
