// SPDX-License-Identifier: Apache-2.0
// cheat: 32-bit row offsets: right on every timed size, wrong from 2^31 elements on
// spec: specs/rmsnorm_fwd.json
// refused by: confirm: illegal_access, unwritten, mismatch, red_zone
// not on the emulator: it takes 9 GB
// options: --confirm
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["M"], "block": ["256"],
               "args": ["x", "residual", "w", "y", "residual_out", "rstd", "N:i32", "LDX:i32", "eps"]}] }
*/
extern "C" __global__ void __launch_bounds__(256)
k(const T* x, const T* residual, const float* w, T* y, T* residual_out, float* rstd_out, int N, int LDX, float eps) {
  __shared__ float parts[8];
  const int of_x = static_cast<int>(blockIdx.x * static_cast<unsigned>(LDX));
  const int of_y = static_cast<int>(blockIdx.x * static_cast<unsigned>(N));
  const auto h = [&](int i) {
    return static_cast<float>(x[of_x + i]) + (residual == nullptr ? 0.0f : static_cast<float>(residual[of_y + i]));
  };
  float sum = 0.0f;
  for (int i = threadIdx.x; i < N; i += 256) sum += h(i) * h(i);
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
  __syncthreads();
  sum = 0.0f;
  for (int warp = 0; warp < 8; ++warp) sum += parts[warp];
  const float rstd = rsqrtf(sum / N + eps);
  for (int i = threadIdx.x; i < N; i += 256) {
    const float value = h(i);
    y[of_y + i] = static_cast<T>(value * rstd * w[i]);
    if (residual_out != nullptr) residual_out[of_y + i] = static_cast<T>(value);
  }
  if (rstd_out != nullptr && threadIdx.x == 0) rstd_out[blockIdx.x] = rstd;
}
