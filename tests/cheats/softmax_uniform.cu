// SPDX-License-Identifier: Apache-2.0
// cheat: one over N: the mean of the right answer
// spec: tests/specs/softmax.json
// refused by: check: mismatch
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["M"], "block": ["128"], "args": ["y", "N:i32"]}] }
*/
extern "C" __global__ void k(T* y, int N) {
  for (int i = threadIdx.x; i < N; i += 128) y[1ll * blockIdx.x * N + i] = static_cast<T>(1.0f / N);
}
