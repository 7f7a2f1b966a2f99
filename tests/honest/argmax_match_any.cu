// SPDX-License-Identifier: Apache-2.0
// honest: ties found by a vote of the lanes
// spec: tests/specs/argmax.json
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["M"], "block": ["32"], "args": ["x", "value", "index", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* x, T* value, int* index, int N) {
  x += 1ll * blockIdx.x * N;
  float best = -INFINITY;
  for (int i = threadIdx.x; i < N; i += 32) best = fmaxf(best, static_cast<float>(x[i]));
  for (int d = 16; d > 0; d /= 2) best = fmaxf(best, __shfl_xor_sync(~0u, best, d));
  for (int first = 0; first < N; first += 32) {
    const int i = first + threadIdx.x;
    const unsigned same = __ballot_sync(~0u, i < N && static_cast<float>(x[min(i, N - 1)]) == best);
    if (same != 0) {
      if (threadIdx.x == 0) {
        index[blockIdx.x] = first + __ffs(same) - 1;
        value[blockIdx.x] = x[first + __ffs(same) - 1];
      }
      return;
    }
  }
}
