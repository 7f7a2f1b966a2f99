/*kfactory
{ "plan": 1,
  "hypothesis": "one warp a row",
  "kernels": [{"name": "quantise_naive", "grid": ["M"], "block": ["32"], "args": ["x", "q", "scale", "N:i64"]}] }
*/
extern "C" __global__ void __launch_bounds__(32)
quantise_naive(const T* x, signed char* q, float* scale, long long N) {
  x += blockIdx.x * N;
  q += blockIdx.x * N;
  float largest = 0.0f;
  for (long long i = threadIdx.x; i < N; i += 32) {
    largest = fmaxf(largest, fabsf(static_cast<float>(x[i])));
  }
  for (int step = 16; step > 0; step /= 2) {
    largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, step));
  }
  const float s = largest == 0.0f ? 1.0f : largest / 127.0f;
  if (threadIdx.x == 0) {
    scale[blockIdx.x] = s;
  }
  for (long long i = threadIdx.x; i < N; i += 32) {
    q[i] = static_cast<signed char>(rintf(static_cast<float>(x[i]) / s));
  }
}
