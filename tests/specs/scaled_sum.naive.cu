/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["M"], "block": ["32"], "args": ["x", "s", "y", "N:i32"]}] }
*/
extern "C" __global__ void __launch_bounds__(32) k(const T* x, const T* s, T* y, int N) {
  x += 1ll * blockIdx.x * N;
  float sum = 0.0f;
  for (int i = threadIdx.x; i < N; i += 32) sum += x[i];
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  if (threadIdx.x == 0) y[blockIdx.x] = s[blockIdx.x] * sum;
}
