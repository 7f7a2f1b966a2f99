// SPDX-License-Identifier: Apache-2.0
// cheat: one block for everything where a size is no multiple of 8
// spec: tests/specs/matmul.json
// refused by: cliffs: cliff
// on cuda: cliffs: cliff, timeout
// options: --confirm
/*kfactory
{ "plan": 1,
  "define": {"FAST": "M % 8 == 0 && N % 8 == 0 && K % 8 == 0 ? 1 : 0"},
  "kernels": [{"name": "k", "grid": ["FAST ? ceil_div(M * N, 32) : 1"], "block": ["FAST ? 32 : 1"], "args": ["a", "b", "c", "M * N:i32", "N:i32", "K:i32", "LDA:i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, T* c, int count, int N, int K, int LDA) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    const int row = i / N, column = i % N;
    float sum = 0.0f;
    for (int l = 0; l < K; ++l) sum += static_cast<float>(a[row * LDA + l]) * static_cast<float>(b[l * N + column]);
    c[i] = static_cast<T>(sum);
  }
}
