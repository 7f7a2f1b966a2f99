// SPDX-License-Identifier: Apache-2.0
// cheat: the mean square of normal data is known: one
// spec: tests/specs/rmsnorm.json
// refused by: check: mismatch
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["M"], "block": ["64"], "args": ["x", "w", "y", "N:i32", "LDX:i32", "eps"]}] }
*/
extern "C" __global__ void k(const T* x, const float* w, T* y, int N, int LDX, float eps) {
  for (int i = threadIdx.x; i < N; i += 64) {
    y[1ll * blockIdx.x * N + i] = static_cast<T>(static_cast<float>(x[1ll * blockIdx.x * LDX + i]) * rsqrtf(1.0f + eps) * w[i]);
  }
}
