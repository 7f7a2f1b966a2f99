// SPDX-License-Identifier: Apache-2.0
// cheat: adds the parts of a row in the order in which blocks come, where the spec promises equal bits
// spec: tests/specs/scaled_sum.json
// refused by: repeat: not_repeatable or perturbation: not_repeatable
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "clear", "grid": ["ceil_div(M, 256)"], "block": ["256"], "args": ["y", "M:i32"]},
              {"name": "k", "grid": ["ceil_div(N, 64)", "M"], "block": ["32"], "args": ["x", "s", "y", "N:i32"]}] }
*/
extern "C" __global__ void clear(T* y, int M) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < M) y[i] = 0.0f;
}
extern "C" __global__ void k(const T* x, const T* s, T* y, int N) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  x += 1ll * blockIdx.y * N;
  float part = (i < N ? x[i] : 0.0f) + (i + 32 < N ? x[i + 32] : 0.0f);
  for (int d = 16; d > 0; d /= 2) part += __shfl_xor_sync(~0u, part, d);
  if (threadIdx.x == 0) atomicAdd(y + blockIdx.y, s[blockIdx.y] * part);
}
