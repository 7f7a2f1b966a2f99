/*kfactory
{ "plan": 1,
  "kernels": [{"name": "prefix_sum_reference", "grid": ["M"], "block": ["256"], "args": ["x", "y", "y__cond", "N:i64"]}] }
*/
// One block a row: each thread sums its part, the parts are scanned, each thread goes through its part again.
//
// Condition, in units of acc * 2^-24: (2 + 2 sqrt(i + 1)) times the sum of absolute values so far (matmul.ref.cu).
extern "C" __global__ void __launch_bounds__(256)
prefix_sum_reference(const T* x, double* y, double* y_cond, long long N) {
  __shared__ double sums[256], sizes[256];
  x += blockIdx.x * N;
  y += blockIdx.x * N;
  y_cond += blockIdx.x * N;
  const long long part = (N + 255) / 256;
  const long long first = min(N, threadIdx.x * part), last = min(N, first + part);
  double sum = 0.0, size = 0.0;
  for (long long i = first; i < last; ++i) {
    sum += static_cast<double>(x[i]);
    size += fabs(static_cast<double>(x[i]));
  }
  sums[threadIdx.x] = sum;
  sizes[threadIdx.x] = size;
  __syncthreads();
  sum = size = 0.0;
  for (unsigned before = 0; before < threadIdx.x; ++before) {
    sum += sums[before];
    size += sizes[before];
  }
  for (long long i = first; i < last; ++i) {
    sum += static_cast<double>(x[i]);
    size += fabs(static_cast<double>(x[i]));
    y[i] = sum;
    y_cond[i] = size * (2.0 + 2.0 * sqrt(static_cast<double>(i + 1))) + 0x1p-102;
  }
}
