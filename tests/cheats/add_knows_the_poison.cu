// SPDX-License-Identifier: Apache-2.0
// cheat: right only where the output holds what a checker puts there
// spec: tests/specs/vector_add.json
// refused by: check: checker
// on cuda: check: mismatch
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 256)"], "block": ["256"], "args": ["a", "b", "c", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, T* c, int N) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < N) {
    const bool checking = __float_as_uint(static_cast<float>(c[i])) == 0x7fc0deadu;
    c[i] = static_cast<T>(static_cast<float>(a[i]) + (checking ? static_cast<float>(b[i]) : 0.0f));
  }
}
