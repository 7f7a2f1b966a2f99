/*kfactory
{ "plan": 1,
  "hypothesis": "one block a row: a part a thread, scan of the parts, second pass",
  "kernels": [{"name": "prefix_sum_naive", "grid": ["M"], "block": ["256"], "args": ["x", "y", "N:i64"]}] }
*/
extern "C" __global__ void __launch_bounds__(256) prefix_sum_naive(const T* x, T* y, long long N) {
  __shared__ T sums[256];
  x += blockIdx.x * N;
  y += blockIdx.x * N;
  const long long part = (N + 255) / 256;
  const long long first = min(N, threadIdx.x * part), last = min(N, first + part);
  T sum = 0;
  for (long long i = first; i < last; ++i) {
    sum += x[i];
  }
  sums[threadIdx.x] = sum;
  __syncthreads();
  sum = 0;
  for (unsigned before = 0; before < threadIdx.x; ++before) {
    sum += sums[before];
  }
  for (long long i = first; i < last; ++i) {
    sum += x[i];
    y[i] = sum;
  }
}
