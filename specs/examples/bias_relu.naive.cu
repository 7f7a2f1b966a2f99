/*kfactory
{ "plan": 1, "hypothesis": "one thread an element",
  "kernels": [{"name": "bias_relu", "grid": ["ceil_div(M * N, 256)"], "block": ["256"],
               "args": ["x", "b", "y", "M * N:i64", "N:i64"]}] }
*/
extern "C" __global__ void bias_relu(const T* x, const T* b, T* y, long long elements, long long n) {
  const long long i = blockIdx.x * 256LL + threadIdx.x;
  if (i >= elements) return;
  const float sum = static_cast<float>(x[i]) + static_cast<float>(b[i % n]);
  y[i] = static_cast<T>(sum > 0 ? sum : 0);
}
