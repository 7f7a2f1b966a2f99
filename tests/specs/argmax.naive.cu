/*kfactory
{ "plan": 1,
  "hypothesis": "one warp a row, a stride of 32",
  "kernels": [{"name": "argmax_naive", "grid": ["M"], "block": ["32"], "args": ["x", "value", "index", "N:i32"]}] }
*/
extern "C" __global__ void __launch_bounds__(32) argmax_naive(const T* x, T* value, int* index, int N) {
  x += static_cast<long long>(blockIdx.x) * N;
  float best = -INFINITY;
  int at = N;
  for (int i = threadIdx.x; i < N; i += 32) {
    if (static_cast<float>(x[i]) > best || at == N) {
      best = static_cast<float>(x[i]);
      at = i;
    }
  }
  for (int step = 16; step > 0; step /= 2) {
    const float other = __shfl_xor_sync(0xffffffffu, best, step);
    const int other_at = __shfl_xor_sync(0xffffffffu, at, step);
    if (other > best || (other == best && other_at < at)) {
      best = other;
      at = other_at;
    }
  }
  if (threadIdx.x == 0) {
    value[blockIdx.x] = static_cast<T>(best);
    index[blockIdx.x] = at;
  }
}
