// SPDX-License-Identifier: Apache-2.0
// cheat: rows whose length is no multiple of 4 are summed from their start for every element
// spec: tests/specs/prefix_sum.json
// refused by: cliffs: cliff
// on cuda: cliffs: cliff, timeout
// options: --confirm
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["M"], "block": ["32"], "args": ["x", "y", "N:i32"]}] }
*/
extern "C" __global__ void __launch_bounds__(32) k(const T* x, T* y, int N) {
  x += 1ll * blockIdx.x * N;
  y += 1ll * blockIdx.x * N;
  if (N % 4 != 0) {
    for (int i = threadIdx.x; i < N; i += 32) {
      T sum = 0;
      for (int j = 0; j <= i; ++j) sum += x[j];
      y[i] = sum;
    }
    return;
  }
  T before = 0;
  for (int first = 0; first < N; first += 32) {
    T sum = first + threadIdx.x < N ? x[first + threadIdx.x] : T(0);
    for (int d = 1; d < 32; d *= 2) {
      const T other = __shfl_up_sync(~0u, sum, d);
      if (threadIdx.x >= d) sum += other;
    }
    if (first + threadIdx.x < N) y[first + threadIdx.x] = before + sum;
    before += __shfl_sync(~0u, sum, 31);
  }
}
