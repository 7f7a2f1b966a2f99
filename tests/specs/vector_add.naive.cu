/*kfactory
{ "plan": 1,
  "hypothesis": "one thread an element",
  "tune": {"THREADS": [128, 256, 512]},
  "kernels": [{"name": "add", "grid": ["ceil_div(N, THREADS)"], "block": ["THREADS"], "args": ["a", "b", "c", "N:i64"]}] }
*/

extern "C" __global__ void add(const T* a, const T* b, T* c, long long N) {
  const long long i = static_cast<long long>(blockIdx.x) * THREADS + threadIdx.x;
  if (i < N) {
    c[i] = static_cast<T>(static_cast<float>(a[i]) + static_cast<float>(b[i]));
  }
}
