/*kfactory
{ "plan": 1,
  "hypothesis": "one thread an element",
  "kernels": [{"name": "matmul_naive", "grid": ["ceil_div(N, 32)", "ceil_div(M, 8)"], "block": ["32", "8"],
               "args": ["a", "b", "c", "M:i64", "N:i64", "K:i64", "LDA:i64"]}] }
*/
extern "C" __global__ void matmul_naive(const T* a, const T* b, T* c, long long M, long long N, long long K,
                                        long long LDA) {
  const long long column = blockIdx.x * 32ll + threadIdx.x;
  const long long row = blockIdx.y * 8ll + threadIdx.y;
  if (row >= M || column >= N) {
    return;
  }
  float sum = 0.0f;
  for (long long k = 0; k < K; ++k) {
    sum += static_cast<float>(a[row * LDA + k]) * static_cast<float>(b[k * N + column]);
  }
  c[row * N + column] = static_cast<T>(sum);
}
