/*kfactory
{ "plan": 1,
  "kernels": [{"name": "top_k_reference", "grid": ["M"], "block": ["32"], "args": ["x", "value", "index", "N:i64"]}] }
*/
// One warp a row, K rounds over it; of equal values the lowest index that is free.
extern "C" __global__ void __launch_bounds__(32)
top_k_reference(const T* x, double* value, double* index, long long N) {
  const T* row = x + blockIdx.x * N;
  long long taken[4] = {-1, -1, -1, -1};
  for (int rank = 0; rank < 4; ++rank) {
    long long best = -1;
    for (long long i = threadIdx.x; i < N; i += 32) {
      const bool open = i != taken[0] && i != taken[1] && i != taken[2];
      if (open && (best < 0 || static_cast<float>(row[i]) > static_cast<float>(row[best]))) {
        best = i;
      }
    }
    for (int step = 16; step > 0; step /= 2) {
      const long long other = __shfl_xor_sync(0xffffffffu, best, step);
      const float own = best < 0 ? 0.0f : static_cast<float>(row[best]);
      const float others = other < 0 ? 0.0f : static_cast<float>(row[other]);
      if (other >= 0 && (best < 0 || others > own || (others == own && other < best))) {
        best = other;
      }
    }
    taken[rank] = best;
    if (threadIdx.x == 0) {
      value[blockIdx.x * 4 + rank] = static_cast<float>(row[best]);
      index[blockIdx.x * 4 + rank] = static_cast<double>(best);
    }
  }
}
