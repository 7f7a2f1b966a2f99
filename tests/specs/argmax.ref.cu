/*kfactory
{ "plan": 1,
  "kernels": [{"name": "argmax_reference", "grid": ["M"], "block": ["32"], "args": ["x", "value", "index", "N:i64"]}] }
*/
// One warp a row; of equal values the lowest index.
extern "C" __global__ void __launch_bounds__(32)
argmax_reference(const T* x, double* value, double* index, long long N) {
  const T* row = x + blockIdx.x * N;
  long long best = threadIdx.x < N ? threadIdx.x : 0;
  for (long long i = threadIdx.x; i < N; i += 32) {
    if (static_cast<float>(row[i]) > static_cast<float>(row[best])) {
      best = i;
    }
  }
  for (int step = 16; step > 0; step /= 2) {
    const long long other = __shfl_xor_sync(0xffffffffu, best, step);
    const float own = static_cast<float>(row[best]), others = static_cast<float>(row[other]);
    if (others > own || (others == own && other < best)) {
      best = other;
    }
  }
  if (threadIdx.x == 0) {
    value[blockIdx.x] = static_cast<float>(row[best]);
    index[blockIdx.x] = static_cast<double>(best);
  }
}
