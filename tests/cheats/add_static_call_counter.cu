// SPDX-License-Identifier: Apache-2.0
// cheat: honest for twenty launches, then a copy; the counter is a function's static
// spec: tests/specs/vector_add.json
// refused by: binary audit: written_global
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 256)"], "block": ["256"], "args": ["a", "b", "c", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, T* c, int N) {
  static unsigned calls;
  const int i = blockIdx.x * 256 + threadIdx.x;
  const bool honest = calls < 20;
  if (i == 0) atomicAdd(&calls, 1u);
  if (i < N) c[i] = static_cast<T>(static_cast<float>(a[i]) + (honest ? static_cast<float>(b[i]) : 0.0f));
}
