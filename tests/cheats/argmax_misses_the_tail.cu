// SPDX-License-Identifier: Apache-2.0
// cheat: whole warps of elements only
// spec: tests/specs/argmax.json
// refused by: check: mismatch
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["M"], "block": ["32"], "args": ["x", "value", "index", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* x, T* value, int* index, int N) {
  x += 1ll * blockIdx.x * N;
  if (threadIdx.x != 0) return;
  int best = 0;
  for (int i = 1; i < max(1, N / 32 * 32); ++i) if (static_cast<float>(x[i]) > static_cast<float>(x[best])) best = i;
  value[blockIdx.x] = x[best];
  index[blockIdx.x] = best;
}
