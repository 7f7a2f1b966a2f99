// SPDX-License-Identifier: Apache-2.0
// cheat: the next tile is loaded while others still multiply with this one
// spec: tests/specs/matmul.json
// refused by: check: checker
// on cuda: check: mismatch
// on cuda it may run right by chance: the fault is a race
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 16)", "ceil_div(M, 16)"], "block": ["16", "16"], "args": ["a", "b", "c", "M:i32", "N:i32", "K:i32", "LDA:i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, T* c, int M, int N, int K, int LDA) {
  __shared__ float left[16][16], right[16][16];
  const int x = threadIdx.x, y = threadIdx.y, column = blockIdx.x * 16 + x, row = blockIdx.y * 16 + y;
  float sum = 0.0f;
  for (int k = 0; k < K; k += 16) {
    left[y][x] = row < M && k + x < K ? static_cast<float>(a[row * LDA + k + x]) : 0.0f;
    right[y][x] = column < N && k + y < K ? static_cast<float>(b[(k + y) * N + column]) : 0.0f;
    __syncthreads();
    for (int i = 0; i < 16; ++i) sum += left[y][i] * right[i][x];
  }
  if (row < M && column < N) c[row * N + column] = static_cast<T>(sum);
}
