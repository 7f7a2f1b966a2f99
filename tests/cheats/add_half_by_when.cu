// SPDX-License-Identifier: Apache-2.0
// cheat: a launch is left out where it is timed
// spec: tests/specs/vector_add.json
// refused by: timed run: unwritten
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "id": "x", "grid": ["ceil_div(N, 512)"], "block": ["256"], "args": ["a", "b", "c", "0:i32", "(N + 1) / 2:i32"]}, {"name": "k", "id": "y", "when": "N != 2048 && N > 1 && N < 1000000", "grid": ["ceil_div(N, 512)"], "block": ["256"], "args": ["a", "b", "c", "(N + 1) / 2:i32", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, T* c, int F, int N) {
  const int i = F + blockIdx.x * 256 + threadIdx.x;
  if (i < N) c[i] = T(static_cast<float>(a[i]) + static_cast<float>(b[i]));
}
