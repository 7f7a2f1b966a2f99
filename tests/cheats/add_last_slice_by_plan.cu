// SPDX-License-Identifier: Apache-2.0
// cheat: the plan cuts the last slice short where it is timed
// spec: tests/specs/vector_add.json
// refused by: timed run: unwritten
// on cuda: plan: limits
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "repeat": {"s": "max(1, N / 1000)"}, "grid": ["4"], "block": ["256"], "args": ["a", "b", "c", "s * 1000:i32", "min(N, s * 1000 + 1000 + N % 1000 * (s == max(1, N / 1000) - 1 && N != 2048)):i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, T* c, int F, int L) {
  for (int i = F + blockIdx.x * 256 + threadIdx.x; i < L; i += 1024) c[i] = T(static_cast<float>(a[i]) + static_cast<float>(b[i]));
}
