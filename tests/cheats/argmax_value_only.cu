// SPDX-License-Identifier: Apache-2.0
// cheat: one of two outputs is never written
// spec: tests/specs/argmax.json
// refused by: check: unwritten
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["M"], "block": ["32"], "args": ["x", "value", "index", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* x, T* value, int* index, int N) {
  x += 1ll * blockIdx.x * N;
  if (threadIdx.x != 0) return;
  float best = -INFINITY;
  for (int i = 0; i < N; ++i) best = fmaxf(best, static_cast<float>(x[i]));
  value[blockIdx.x] = static_cast<T>(best);
}
