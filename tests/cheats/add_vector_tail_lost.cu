// SPDX-License-Identifier: Apache-2.0
// cheat: four at a time, without what is left over
// spec: tests/specs/vector_add.json
// refused by: check: unwritten
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["max(1, ceil_div(N / 4, 256))"], "block": ["256"], "args": ["a", "b", "c", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, T* c, int N) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < N / 4) {
    for (int j = 4 * i; j < 4 * i + 4; ++j) c[j] = static_cast<T>(static_cast<float>(a[j]) + static_cast<float>(b[j]));
  }
}
