/*kfactory
{ "plan": 1,
  "kernels": [{"name": "scaled_sum_reference", "grid": ["M"], "block": ["32"], "args": ["x", "s", "y", "y__cond", "N:i64"]}] }
*/
extern "C" __global__ void __launch_bounds__(32)
scaled_sum_reference(const T* x, const T* s, double* y, double* y_cond, long long N) {
  x += blockIdx.x * N;
  double sum = 0.0, size = 0.0;
  for (long long i = threadIdx.x; i < N; i += 32) {
    sum += static_cast<double>(x[i]);
    size += fabs(static_cast<double>(x[i]));
  }
  for (int step = 16; step > 0; step /= 2) {
    sum += __shfl_xor_sync(0xffffffffu, sum, step);
    size += __shfl_xor_sync(0xffffffffu, size, step);
  }
  if (threadIdx.x == 0) {
    const double factor = static_cast<double>(s[blockIdx.x]);
    y[blockIdx.x] = factor * sum;
    y_cond[blockIdx.x] = fabs(factor) * size * (4.0 + sqrt(static_cast<double>(N)) / 4.0) + 0x1p-102;
  }
}
