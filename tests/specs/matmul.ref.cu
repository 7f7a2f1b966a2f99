/*kfactory
{ "plan": 1,
  "kernels": [{"name": "matmul_reference", "grid": ["ceil_div(N, 32)", "ceil_div(M, 8)"], "block": ["32", "8"],
               "args": ["a", "b", "c", "c__cond", "M:i64", "N:i64", "K:i64", "LDA:i64"]}] }
*/
// Condition, in units of acc * 2^-24: a float32 sum in any order errs by at most (partial sums) / 2 units of the sum of
// absolute products in the worst case, errors of a typical order grow with sqrt(K), and 2 sqrt(K) is beyond what
// any of a million elements meets; products add up to two units: (2 + 2 sqrt(K)) times that sum. A tf32 or bf16 product errs by 2^12 units or more and stands out.
extern "C" __global__ void matmul_reference(const T* a, const T* b, double* c, double* c_cond, long long M, long long N,
                                            long long K, long long LDA) {
  const long long column = blockIdx.x * 32ll + threadIdx.x;
  const long long row = blockIdx.y * 8ll + threadIdx.y;
  if (row >= M || column >= N) {
    return;
  }
  double sum = 0.0, sizes = 0.0;
  for (long long k = 0; k < K; ++k) {
    const double product = static_cast<double>(static_cast<float>(a[row * LDA + k])) *
                           static_cast<double>(static_cast<float>(b[k * N + column]));
    sum += product;
    sizes += fabs(product);
  }
  c[row * N + column] = sum;
  c_cond[row * N + column] = sizes * (2.0 + 2.0 * sqrt(static_cast<double>(K))) + 0x1p-102;
}
