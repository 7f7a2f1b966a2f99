/*kfactory
{ "plan": 1,
  "kernels": [{"name": "top_k_reference", "grid": ["ceil_div(M, 32)"], "block": ["32"],
               "args": ["x", "value", "index", "M:i64", "N:i64"]}] }
*/
// K rounds over the row; of equal values the lowest index that is free.
extern "C" __global__ void top_k_reference(const T* x, double* value, double* index, long long M, long long N) {
  const long long row = blockIdx.x * 32ll + threadIdx.x;
  if (row >= M) {
    return;
  }
  long long taken[4];
  for (int rank = 0; rank < 4; ++rank) {
    long long best = -1;
    for (long long i = 0; i < N; ++i) {
      bool free = true;
      for (int before = 0; before < rank; ++before) {
        free = free && taken[before] != i;
      }
      if (free && (best < 0 || static_cast<float>(x[row * N + i]) > static_cast<float>(x[row * N + best]))) {
        best = i;
      }
    }
    taken[rank] = best;
    value[row * 4 + rank] = static_cast<float>(x[row * N + best]);
    index[row * 4 + rank] = static_cast<double>(best);
  }
}
