// SPDX-License-Identifier: Apache-2.0
// cheat: sixteen-byte loads from rows that promise four
// spec: tests/specs/rmsnorm.json
// refused by: check: checker
// on cuda: check: illegal_access, unwritten, mismatch
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["M"], "block": ["32"], "args": ["x", "w", "y", "N:i32", "LDX:i32", "eps"]}] }
*/
extern "C" __global__ void k(const T* x, const float* w, T* y, int N, int LDX, float eps) {
  const int each = 16 / sizeof(T);
  x += 1ll * blockIdx.x * LDX;
  y += 1ll * blockIdx.x * N;
  float sum = 0.0f;
  for (int i = threadIdx.x; i < N / each; i += 32) {
    const uint4 words = reinterpret_cast<const uint4*>(x)[i];
    const T* value = reinterpret_cast<const T*>(&words);
    for (int j = 0; j < each; ++j) sum += static_cast<float>(value[j]) * static_cast<float>(value[j]);
  }
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  const float rstd = rsqrtf(sum / N + eps);
  for (int i = threadIdx.x; i < N / each * each; i += 32) y[i] = static_cast<T>(static_cast<float>(x[i]) * rstd * w[i]);
}
