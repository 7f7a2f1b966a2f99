/*kfactory
{ "plan": 1,
  "kernels": [{"name": "rmsnorm_reference", "grid": ["M"], "block": ["N <= 1024 ? 128 : 512"],
               "args": ["x", "residual", "w", "y", "y__cond", "residual_out", "rstd", "rstd__cond", "N:i64", "LDX:i64", "eps"]}] }
*/
// RMSNorm forward in double precision: one block a row, two coalesced passes over it (the second from cache).
//
// Conditions, in units of acc * 2^-24, relative to the result. A float32 kernel makes these errors:
//   - the sum of N squares. All terms are positive, so the sum's relative error is at most that of its partial sums;
//     sqrt(N) partial sums of sqrt(N) terms each err by at most sqrt(N)/2 units on each of the two levels, sqrt(N) in
//     all. Few real kernels are worse: a tree is far better. The square root halves it: sqrt(N)/2.
//   - rsqrt of 2 ulp: 4 units. Adding eps, adding the residual, two products: 4 units.
// With "acc": 2 that is 2 * (4 + sqrt(N)/4). 2^-102 lets results below the smallest normal float be flushed to zero.

__device__ double block_sum(double value) {
  __shared__ double parts[32];
  __shared__ double total;
  for (int step = 16; step > 0; step /= 2) {
    value += __shfl_down_sync(0xffffffffu, value, step);
  }
  if (threadIdx.x % 32 == 0) {
    parts[threadIdx.x / 32] = value;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    double sum = 0.0;
    for (unsigned warp = 0; warp < blockDim.x / 32; ++warp) {
      sum += parts[warp];
    }
    total = sum;
  }
  __syncthreads();
  return total;
}

extern "C" __global__ void __launch_bounds__(512)
rmsnorm_reference(const T* x, const T* residual, const float* w, double* y, double* y_cond, double* residual_out,
                  double* rstd_out, double* rstd_cond, long long N, long long LDX, float eps) {
  const long long row = blockIdx.x;
  const T* x_row = x + row * LDX;
  const T* residual_row = residual == nullptr ? nullptr : residual + row * N;
  const auto h = [&](long long i) {
    const double sum = static_cast<float>(x_row[i]);
    return residual_row == nullptr ? sum : sum + static_cast<double>(static_cast<float>(residual_row[i]));
  };

  double squares = 0.0;
  for (long long i = threadIdx.x; i < N; i += blockDim.x) {
    squares += h(i) * h(i);
  }
  const double rstd = 1.0 / sqrt(block_sum(squares) / static_cast<double>(N) + static_cast<double>(eps));
  const double error = 4.0 + sqrt(static_cast<double>(N)) / 4.0;
  const double flushed = 0x1p-102;

  for (long long i = threadIdx.x; i < N; i += blockDim.x) {
    const double value = h(i) * rstd * static_cast<double>(w[i]);
    y[row * N + i] = value;
    y_cond[row * N + i] = fabs(value) * error + flushed;
    if (residual_out != nullptr) {
      residual_out[row * N + i] = h(i);
    }
  }
  if (rstd_out != nullptr && threadIdx.x == 0) {
    rstd_out[row] = rstd;
    rstd_cond[row] = rstd * error;
  }
}
