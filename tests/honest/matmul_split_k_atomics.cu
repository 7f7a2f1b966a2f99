// SPDX-License-Identifier: Apache-2.0
// honest: three parts of K by atomics in a workspace that is zeroed inside the timed window
// spec: tests/specs/matmul.json
/*kfactory
{ "plan": 1,
  "define": {"PARTS": "3"},
  "workspaces": {"part": {"bytes": "4 * M * N", "init": "zero"}},
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 32)", "ceil_div(M, 8)", "PARTS"], "block": ["32", "8"], "args": ["a", "b", "part", "M:i32", "N:i32", "K:i32", "LDA:i32"]},
              {"name": "finish", "grid": ["ceil_div(M * N, 256)"], "block": ["256"], "args": ["part", "c", "M * N:i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, float* part, int M, int N, int K, int LDA) {
  const int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
  if (row >= M || column >= N) return;
  const int each = (K + PARTS - 1) / PARTS, first = blockIdx.z * each;
  float sum = 0.0f;
  for (int i = first; i < min(K, first + each); ++i) sum += static_cast<float>(a[row * LDA + i]) * static_cast<float>(b[i * N + column]);
  atomicAdd(part + row * N + column, sum);
}
extern "C" __global__ void finish(const float* part, T* c, int count) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < count) c[i] = static_cast<T>(part[i]);
}
