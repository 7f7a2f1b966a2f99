// SPDX-License-Identifier: Apache-2.0
// cheat: right for every N that the spec lists; the last element of other rows is that before it
// spec: tests/specs/prefix_sum.json
// refused by: confirm: mismatch or cliffs: mismatch
// options: --confirm
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["M"], "block": ["32"], "args": ["x", "y", "N:i32"]}] }
*/
__device__ bool listed(int n) {
  return n == 1 || n == 63 || n == 65 || n == 700 || n == 1024 || n == 1025 || n == 3000 || n >= 4096;
}
extern "C" __global__ void __launch_bounds__(32) k(const T* x, T* y, int N) {
  x += 1ll * blockIdx.x * N;
  y += 1ll * blockIdx.x * N;
  const int used = listed(N) ? N : N - 1;
  T before = 0;
  for (int first = 0; first < N; first += 32) {
    T sum = first + threadIdx.x < used ? x[first + threadIdx.x] : T(0);
    for (int d = 1; d < 32; d *= 2) {
      const T other = __shfl_up_sync(~0u, sum, d);
      if (threadIdx.x >= d) sum += other;
    }
    if (first + threadIdx.x < N) y[first + threadIdx.x] = before + sum;
    before += __shfl_sync(~0u, sum, 31);
  }
}
