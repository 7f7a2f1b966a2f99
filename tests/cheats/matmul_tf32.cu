// SPDX-License-Identifier: Apache-2.0
// cheat: float32 products with ten bits
// spec: tests/specs/matmul.json
// refused by: check: mismatch
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 32)", "ceil_div(M, 8)"], "block": ["32", "8"], "args": ["a", "b", "c", "M:i32", "N:i32", "K:i32", "LDA:i32"]}] }
*/
__device__ float tf32(float value) {
  unsigned bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(value));
  return __uint_as_float(bits);
}
extern "C" __global__ void k(const T* a, const T* b, T* c, int M, int N, int K, int LDA) {
  const int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
  if (row >= M || column >= N) return;
  float sum = 0.0f;
  for (int i = 0; i < K; ++i) sum += tf32(static_cast<float>(a[row * LDA + i])) * tf32(static_cast<float>(b[i * N + column]));
  c[row * N + column] = static_cast<T>(sum);
}
