/*kfactory
{ "plan": 1,
  "hypothesis": "one warp a row",
  "kernels": [{"name": "rmsnorm_naive", "grid": ["M"], "block": ["32"], "args": ["x", "w", "y", "N:i64", "LDX:i64", "eps"]}] }
*/
extern "C" __global__ void __launch_bounds__(32)
rmsnorm_naive(const T* x, const float* w, T* y, long long N, long long LDX, float eps) {
  x += blockIdx.x * LDX;
  y += blockIdx.x * N;
  float squares = 0.0f;
  for (long long i = threadIdx.x; i < N; i += 32) {
    const float value = static_cast<float>(x[i]);
    squares += value * value;
  }
  for (int step = 16; step > 0; step /= 2) {
    squares += __shfl_xor_sync(0xffffffffu, squares, step);
  }
  const float rstd = rsqrtf(squares / static_cast<float>(N) + eps);
  for (long long i = threadIdx.x; i < N; i += 32) {
    y[i] = static_cast<T>(static_cast<float>(x[i]) * rstd * w[i]);
  }
}
