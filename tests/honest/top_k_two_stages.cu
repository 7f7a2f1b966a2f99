// SPDX-License-Identifier: Apache-2.0
// honest: four of each thread, then four of those
// spec: tests/specs/top_k.json
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["M"], "block": ["128"], "args": ["x", "value", "index", "N:i32"]}] }
*/
extern "C" __global__ void __launch_bounds__(128) k(const T* x, T* value, int* index, int N) {
  __shared__ int best[512];
  x += 1ll * blockIdx.x * N;
  int own[4] = {-1, -1, -1, -1};
  for (int i = threadIdx.x; i < N; i += 128) {
    int c = i;
    for (int r = 0; r < 4; ++r) if (c >= 0 && (own[r] < 0 || float(x[c]) > float(x[own[r]]))) { const int t = own[r]; own[r] = c; c = t; }
  }
  for (int r = 0; r < 4; ++r) best[threadIdx.x * 4 + r] = own[r];
  __syncthreads();
  if (threadIdx.x < 32) {
    for (int r = 0; r < 4; ++r) {
      int b = -1, at = -1;
      for (int j = threadIdx.x; j < 512; j += 32) if (best[j] >= 0 && (b < 0 || float(x[best[j]]) > float(x[b]))) { b = best[j]; at = j; }
      for (int d = 16; d > 0; d /= 2) {
        const int o = __shfl_xor_sync(~0u, b, d), oa = __shfl_xor_sync(~0u, at, d);
        if (o >= 0 && (b < 0 || float(x[o]) > float(x[b]) || (float(x[o]) == float(x[b]) && o < b))) { b = o; at = oa; }
      }
      __syncwarp();
      if (threadIdx.x == 0) { value[blockIdx.x * 4 + r] = x[b]; index[blockIdx.x * 4 + r] = b; best[at] = -1; }
      __syncwarp();
    }
  }
}
