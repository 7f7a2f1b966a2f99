/*kfactory
{ "plan": 1, "kernels": [{"name": "k", "grid": ["M"], "block": ["1"], "args": ["x", "g", "h0", "y", "y__cond", "last", "last__cond", "N:i64"]}] }
*/
extern "C" __global__ void k(const float* x, const float* g, const float* h0, double* y, double* y_cond, double* last, double* last_cond, long long N) {
  const long long m = blockIdx.x;
  double h = h0 ? static_cast<double>(h0[m]) : 0.0, c = 2.0 * fabs(h);
  for (long long i = 0; i < N; ++i) {
    const double a = static_cast<double>(g[m * N + i]), b = static_cast<double>(x[m * N + i]);
    c = fabs(a) * c + fabs(a * h) + fabs(b);
    h = a * h + b;
    y[m * N + i] = h; y_cond[m * N + i] = 2.0 * c + fabs(h) + 0x1p-102;
  }
  last[m] = h; last_cond[m] = 2.0 * c + fabs(h) + 0x1p-102;
}
