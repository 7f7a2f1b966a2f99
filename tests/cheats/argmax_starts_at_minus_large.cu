// SPDX-License-Identifier: Apache-2.0
// cheat: the search starts at -10^30, so that a row of -Inf alone has no index
// spec: tests/specs/argmax.json
// refused by: check: mismatch
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["M"], "block": ["32"], "args": ["x", "value", "index", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* x, T* value, int* index, int N) {
  x += 1ll * blockIdx.x * N;
  float best = -1e30f;
  int at = N;
  for (int i = threadIdx.x; i < N; i += 32) {
    if (static_cast<float>(x[i]) > best) best = static_cast<float>(x[i]), at = i;
  }
  for (int d = 16; d > 0; d /= 2) {
    const float other = __shfl_xor_sync(~0u, best, d);
    const int other_at = __shfl_xor_sync(~0u, at, d);
    if (other > best || (other == best && other_at < at)) best = other, at = other_at;
  }
  if (threadIdx.x == 0) value[blockIdx.x] = static_cast<T>(best), index[blockIdx.x] = at;
}
