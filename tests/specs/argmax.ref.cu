/*kfactory
{ "plan": 1,
  "kernels": [{"name": "argmax_reference", "grid": ["ceil_div(M, 64)"], "block": ["64"],
               "args": ["x", "value", "index", "M:i64", "N:i64"]}] }
*/
extern "C" __global__ void argmax_reference(const T* x, double* value, double* index, long long M, long long N) {
  const long long row = blockIdx.x * 64ll + threadIdx.x;
  if (row >= M) {
    return;
  }
  long long best = 0;
  for (long long i = 1; i < N; ++i) {
    if (static_cast<float>(x[row * N + i]) > static_cast<float>(x[row * N + best])) {
      best = i;
    }
  }
  value[row] = static_cast<float>(x[row * N + best]);
  index[row] = static_cast<double>(best);
}
