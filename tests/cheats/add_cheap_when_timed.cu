// SPDX-License-Identifier: Apache-2.0
// cheat: wrong for sizes that are timed and not checked
// spec: tests/specs/vector_add.json
// refused by: timed run: mismatch
// on cuda: timed run: mismatch
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 256)"], "block": ["256"], "args": ["a", "b", "c", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, T* c, int N) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  const bool timed = N == 2048 || N >= 1 << 20;
  if (i < N) c[i] = static_cast<T>(static_cast<float>(a[i]) + (timed ? 0.0f : static_cast<float>(b[i])));
}
