/*kfactory
{ "plan": 1,
  "kernels": [{"name": "softmax_reference", "grid": ["M"], "block": ["256"], "args": ["x", "y", "y__cond", "N:i64"]}] }
*/
// Softmax in double precision, one block a row.
//
// Condition, in units of acc * 2^-24, relative to the result. With d = max - x, a float32 kernel rounds d (an error of d
// units in exp(-d)), takes exp within 2 ulp plus about d/2 more where it scales by log2(e) first (4 + d), and divides by
// a sum whose terms carry the same errors, weighted by their share (sum of p * d), and whose order costs up to sqrt(N)
// (see rmsnorm_fwd.ref.cu). With "acc": 2: 2 * (4 + d + sum(p * d) + sqrt(N)/2). 2^-102 lets results below the smallest
// normal float be flushed to zero.

template <class F>
__device__ double block_reduce(double value, F combine) {
  __shared__ double parts[8];
  for (int step = 16; step > 0; step /= 2) {
    value = combine(value, __shfl_xor_sync(0xffffffffu, value, step));
  }
  __syncthreads();
  if (threadIdx.x % 32 == 0) {
    parts[threadIdx.x / 32] = value;
  }
  __syncthreads();
  value = parts[0];
  for (int warp = 1; warp < 8; ++warp) {
    value = combine(value, parts[warp]);
  }
  return value;
}

extern "C" __global__ void __launch_bounds__(256)
softmax_reference(const T* x, double* y, double* y_cond, long long N) {
  x += blockIdx.x * N;
  y += blockIdx.x * N;
  y_cond += blockIdx.x * N;
  const auto plus = [](double a, double b) { return a + b; };

  double largest = -static_cast<double>(INFINITY);
  bool nan = false;
  for (long long i = threadIdx.x; i < N; i += 256) {
    const double value = static_cast<float>(x[i]);
    largest = fmax(largest, value);
    nan = nan || value != value;
  }
  largest = block_reduce(largest, [](double a, double b) { return fmax(a, b); });
  if (block_reduce(nan ? 1.0 : 0.0, plus) > 0.0) {
    largest = NAN;
  }

  double sum = 0.0;
  double weighted = 0.0;
  for (long long i = threadIdx.x; i < N; i += 256) {
    const double distance = largest - static_cast<double>(static_cast<float>(x[i]));
    const double share = exp(-distance);
    sum += share;
    weighted += share > 0.0 ? share * distance : 0.0;
  }
  sum = block_reduce(sum, plus);
  weighted = block_reduce(weighted, plus) / sum;

  for (long long i = threadIdx.x; i < N; i += 256) {
    const double distance = largest - static_cast<double>(static_cast<float>(x[i]));
    const double value = exp(-distance) / sum;
    y[i] = value;
    y_cond[i] = (value > 0.0 ? value * (4.0 + distance + weighted + sqrt(static_cast<double>(N)) / 2.0) : 0.0) + 0x1p-102;
  }
}
