/*kfactory
{ "plan": 1, "hypothesis": "wrong on purpose: the first pack of each row is never written",
  "define":  {"PACK": "N * sizeof(T) % 16 == 0 ? 16 / sizeof(T) : 1"},
  "kernels": [{"name": "bias_relu", "grid": ["M"], "block": ["256"], "args": ["x", "b", "y", "N:i64"]}] }
*/
struct alignas(PACK * sizeof(T)) Pack { T at[PACK]; };

extern "C" __global__ void bias_relu(const T* x, const T* b, T* y, long long n) {
  const long long row = blockIdx.x * n;
  for (long long j = (threadIdx.x + 1) * PACK; j < n; j += 256 * PACK) {
    Pack value = *reinterpret_cast<const Pack*>(x + row + j);
    const Pack bias = *reinterpret_cast<const Pack*>(b + j);
    for (int k = 0; k < PACK; ++k) {
      const float sum = static_cast<float>(value.at[k]) + static_cast<float>(bias.at[k]);
      value.at[k] = static_cast<T>(sum > 0 ? sum : 0);
    }
    *reinterpret_cast<Pack*>(y + row + j) = value;
  }
}
