// SPDX-License-Identifier: Apache-2.0
// honest: thirty-two warps, their sums scanned by the first
// spec: tests/specs/prefix_sum.json
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["M"], "block": ["1024"], "args": ["x", "y", "N:i32"]}] }
*/
extern "C" __global__ void __launch_bounds__(1024) k(const T* x, T* y, int N) {
  __shared__ T sums[33];
  x += 1ll * blockIdx.x * N;
  y += 1ll * blockIdx.x * N;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  T carry = 0;
  for (int f = 0; f < N; f += 1024) {
    const int i = f + threadIdx.x;
    T v = i < N ? x[i] : T(0);
    for (int d = 1; d < 32; d *= 2) { const T o = __shfl_up_sync(~0u, v, d); if (lane >= d) v += o; }
    if (lane == 31) sums[warp] = v;
    __syncthreads();
    if (warp == 0) {
      T s = sums[lane];
      for (int d = 1; d < 32; d *= 2) { const T o = __shfl_up_sync(~0u, s, d); if (lane >= d) s += o; }
      sums[lane] = s;
      if (lane == 31) sums[32] = s;
    }
    __syncthreads();
    if (i < N) y[i] = carry + ((warp > 0 ? sums[warp - 1] : T(0)) + v);
    carry += sums[32];
    __syncthreads();
  }
}
