/*kfactory
{ "plan": 1,
  "kernels": [{"name": "quantise_reference", "grid": ["M"], "block": ["32"], "args": ["x", "q", "scale", "N:i64"]}] }
*/
extern "C" __global__ void __launch_bounds__(32)
quantise_reference(const T* x, double* q, double* scale, long long N) {
  x += blockIdx.x * N;
  q += blockIdx.x * N;
  double largest = 0.0;
  for (long long i = threadIdx.x; i < N; i += 32) {
    largest = fmax(largest, fabs(static_cast<double>(static_cast<float>(x[i]))));
  }
  for (int step = 16; step > 0; step /= 2) {
    largest = fmax(largest, __shfl_xor_sync(0xffffffffu, largest, step));
  }
  const double s = largest == 0.0 ? 1.0 : largest / 127.0;
  if (threadIdx.x == 0) {
    scale[blockIdx.x] = s;
  }
  for (long long i = threadIdx.x; i < N; i += 32) {
    q[i] = rint(static_cast<double>(static_cast<float>(x[i])) / s);
  }
}
