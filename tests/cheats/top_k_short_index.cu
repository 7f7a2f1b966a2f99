// SPDX-License-Identifier: Apache-2.0
// cheat: value and index share 32 bits where values are narrow, so sixteen are left for the index
// spec: tests/specs/top_k.json
// refused by: check: mismatch
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["M"], "block": ["32"], "args": ["x", "value", "index", "N:i32"]}] }
*/
extern "C" __global__ void __launch_bounds__(32) k(const T* x, T* value, int* index, int N) {
  x += 1ll * blockIdx.x * N;
  int taken[4] = {-1, -1, -1, -1};
  for (int rank = 0; rank < 4; ++rank) {
    int best = -1;
    float most = 0.0f;
    for (int i = threadIdx.x; i < N; i += 32) {
      const bool open = i != taken[0] && i != taken[1] && i != taken[2];
      if (open && (best < 0 || static_cast<float>(x[i]) > most)) best = i, most = static_cast<float>(x[i]);
    }
    for (int d = 16; d > 0; d /= 2) {
      const int other = __shfl_xor_sync(~0u, best, d);
      const float other_most = __shfl_xor_sync(~0u, most, d);
      if (other >= 0 && (best < 0 || other_most > most || (other_most == most && other < best))) best = other, most = other_most;
    }
    taken[rank] = best;
    if (threadIdx.x == 0) value[4 * blockIdx.x + rank] = x[best], index[4 * blockIdx.x + rank] = best & 0xffff;
  }
}
