// SPDX-License-Identifier: Apache-2.0
// cheat: indices are off by one where the neighbour is nearly as large
// spec: tests/specs/top_k.json
// refused by: check: mismatch
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["M"], "block": ["1"], "args": ["x", "value", "index", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* x, T* value, int* index, int N) {
  x += 1ll * blockIdx.x * N;
  int taken[4];
  for (int rank = 0; rank < 4; ++rank) {
    int best = -1;
    for (int i = 0; i < N; ++i) {
      bool free = true;
      for (int r = 0; r < rank; ++r) free = free && taken[r] != i;
      if (free && (best < 0 || static_cast<float>(x[i]) > static_cast<float>(x[best]))) best = i;
    }
    taken[rank] = best;
    const int beside = best + 1 < N ? best + 1 : best;
    value[4 * blockIdx.x + rank] = x[best];
    index[4 * blockIdx.x + rank] = static_cast<float>(x[beside]) > static_cast<float>(x[best]) - 0.5f ? beside : best;
  }
}
