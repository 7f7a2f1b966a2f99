/*kfactory
{ "plan": 1,
  "kernels": [{"name": "add_reference", "grid": ["min(ceil_div(N, 256), 65536)"], "block": ["256"],
               "args": ["a", "b", "c", "N:i64"]}] }
*/

extern "C" __global__ void add_reference(const T* a, const T* b, double* c, long long N) {
  const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < N; i += step) {
    c[i] = static_cast<double>(static_cast<float>(a[i])) + static_cast<double>(static_cast<float>(b[i]));
  }
}
