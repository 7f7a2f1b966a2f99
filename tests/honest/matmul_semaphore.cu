// SPDX-License-Identifier: Apache-2.0
// honest: two parts of K in turn, by a semaphore in a zero_restored workspace
// spec: tests/specs/matmul.json
/*kfactory
{ "plan": 1,
  "workspaces": {"turn": {"bytes": "4 * ceil_div(N, 32) * ceil_div(M, 8)", "init": "zero_restored"}, "part": {"bytes": "4 * M * N"}},
  "kernels": [{"name": "k", "grid": ["2", "ceil_div(N, 32)", "ceil_div(M, 8)"], "block": ["32", "8"], "args": ["a", "b", "c", "turn", "part", "M:i32", "N:i32", "K:i32", "LDA:i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, T* c, unsigned* turn, float* part, int M, int N, int K, int LDA) {
  const int column = blockIdx.y * 32 + threadIdx.x, row = blockIdx.z * 8 + threadIdx.y;
  const bool inside = row < M && column < N;
  const int half = (K + 1) / 2, first = blockIdx.x * half;
  float sum = 0.0f;
  if (inside) {
    for (int i = first; i < min(K, first + half); ++i) sum += static_cast<float>(a[row * LDA + i]) * static_cast<float>(b[i * N + column]);
  }
  unsigned* mine = turn + blockIdx.z * gridDim.y + blockIdx.y;
  if (blockIdx.x == 0) {
    if (inside) part[row * N + column] = sum;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0 && threadIdx.y == 0) atomicExch(mine, 1u);
    return;
  }
  if (threadIdx.x == 0 && threadIdx.y == 0) {
    while (atomicCAS(mine, 1u, 0u) != 1u) {
    }
    __threadfence();
  }
  __syncthreads();
  if (inside) c[row * N + column] = static_cast<T>(*static_cast<volatile float*>(part + row * N + column) + sum);
}
