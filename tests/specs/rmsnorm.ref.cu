/*kfactory
{ "plan": 1,
  "kernels": [{"name": "rmsnorm_reference", "grid": ["M"], "block": ["32"], "args": ["x", "w", "y", "y__cond", "N:i64", "LDX:i64", "eps"]}] }
*/
// Conditions as in specs/rmsnorm_fwd.ref.cu: 4 + sqrt(N) / 4 units of the result.
extern "C" __global__ void __launch_bounds__(32)
rmsnorm_reference(const T* x, const float* w, double* y, double* y_cond, long long N, long long LDX, float eps) {
  x += blockIdx.x * LDX;
  y += blockIdx.x * N;
  y_cond += blockIdx.x * N;
  double squares = 0.0;
  for (long long i = threadIdx.x; i < N; i += 32) {
    const double value = static_cast<float>(x[i]);
    squares += value * value;
  }
  for (int step = 16; step > 0; step /= 2) {
    squares += __shfl_xor_sync(0xffffffffu, squares, step);
  }
  const double rstd = 1.0 / sqrt(squares / static_cast<double>(N) + static_cast<double>(eps));
  for (long long i = threadIdx.x; i < N; i += 32) {
    y[i] = static_cast<double>(static_cast<float>(x[i])) * rstd * static_cast<double>(w[i]);
    y_cond[i] = fabs(y[i]) * (4.0 + sqrt(static_cast<double>(N)) / 4.0) + 0x1p-102;
  }
}
