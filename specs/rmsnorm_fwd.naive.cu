/*kfactory
{ "plan": 1,
  "hypothesis": "the plain kernel that everybody writes first: one block a row, two passes",
  "kernels": [{"name": "rmsnorm_naive", "grid": ["M"], "block": ["256"],
               "args": ["x", "residual", "w", "y", "residual_out", "rstd", "N:i64", "LDX:i64", "eps"]}] }
*/

extern "C" __global__ void __launch_bounds__(256)
rmsnorm_naive(const T* x, const T* residual, const float* w, T* y, T* residual_out, float* rstd_out, long long N,
              long long LDX, float eps) {
  __shared__ float parts[256];
  const long long row = blockIdx.x;
  x += row * LDX;
  y += row * N;
  residual = residual == nullptr ? nullptr : residual + row * N;
  residual_out = residual_out == nullptr ? nullptr : residual_out + row * N;

  float sum = 0.0f;
  for (long long i = threadIdx.x; i < N; i += 256) {
    const float h = static_cast<float>(x[i]) + (residual == nullptr ? 0.0f : static_cast<float>(residual[i]));
    sum += h * h;
  }
  parts[threadIdx.x] = sum;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (threadIdx.x < half) {
      parts[threadIdx.x] += parts[threadIdx.x + half];
    }
    __syncthreads();
  }

  const float rstd = rsqrtf(parts[0] / static_cast<float>(N) + eps);
  for (long long i = threadIdx.x; i < N; i += 256) {
    const float h = static_cast<float>(x[i]) + (residual == nullptr ? 0.0f : static_cast<float>(residual[i]));
    y[i] = static_cast<T>(h * rstd * w[i]);
    if (residual_out != nullptr) {
      residual_out[i] = static_cast<T>(h);
    }
  }
  if (rstd_out != nullptr && threadIdx.x == 0) {
    rstd_out[row] = rstd;
  }
}
