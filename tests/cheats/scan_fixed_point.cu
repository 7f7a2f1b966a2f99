// SPDX-License-Identifier: Apache-2.0
// cheat: floats are summed as 64-bit integers in units of 2^-30: exact where all values are of about one size
// spec: tests/specs/prefix_sum.json
// refused by: check: mismatch
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["M"], "block": ["32"], "args": ["x", "y", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* x, T* y, int N) {
  x += 1ll * blockIdx.x * N;
  y += 1ll * blockIdx.x * N;
  long long before = 0;
  for (int first = 0; first < N; first += 32) {
    const int i = first + threadIdx.x;
    long long sum = i < N ? static_cast<long long>(static_cast<double>(x[i]) * 0x1p30) : 0;
    for (int d = 1; d < 32; d *= 2) {
      const long long other = __shfl_up_sync(~0u, sum, d);
      if (threadIdx.x >= d) sum += other;
    }
    sum += before;
    if (i < N) y[i] = static_cast<T>(static_cast<double>(sum) * 0x1p-30);
    before = __shfl_sync(~0u, sum, 31);
  }
}
