// SPDX-License-Identifier: Apache-2.0
// cheat: each lane remembers the three largest of its elements: wrong only where all four lie 32 apart
// spec: tests/specs/top_k.json
// refused by: check: mismatch
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["M"], "block": ["32"], "args": ["x", "value", "index", "N:i32"]}] }
*/
extern "C" __global__ void __launch_bounds__(32) k(const T* x, T* value, int* index, int N) {
  x += 1ll * blockIdx.x * N;
  float most[3] = {-INFINITY, -INFINITY, -INFINITY};
  int at[3] = {-1, -1, -1};
  for (int i = threadIdx.x; i < N; i += 32) {
    float own = static_cast<float>(x[i]);
    int own_at = i;
    for (int place = 0; place < 3; ++place) {
      if (at[place] < 0 || own > most[place]) {
        const float lower = most[place];
        const int lower_at = at[place];
        most[place] = own, at[place] = own_at;
        own = lower, own_at = lower_at;
        if (own_at < 0) break;
      }
    }
  }
  for (int rank = 0; rank < 4; ++rank) {
    float best = most[0];
    int best_at = at[0];
    for (int d = 16; d > 0; d /= 2) {
      const float other = __shfl_xor_sync(~0u, best, d);
      const int other_at = __shfl_xor_sync(~0u, best_at, d);
      if (other_at >= 0 && (best_at < 0 || other > best || (other == best && other_at < best_at))) best = other, best_at = other_at;
    }
    if (best_at == at[0]) {
      most[0] = most[1], at[0] = at[1];
      most[1] = most[2], at[1] = at[2];
      at[2] = -1;
    }
    if (threadIdx.x == 0) value[4 * blockIdx.x + rank] = static_cast<T>(best), index[4 * blockIdx.x + rank] = best_at;
  }
}
