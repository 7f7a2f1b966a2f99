// SPDX-License-Identifier: Apache-2.0
// honest: decoupled look-back: each part waits for the one before through flags that are reset by a second kernel
// spec: tests/specs/prefix_sum.json
/*kfactory
{ "plan": 1,
  "define": {"PART": "256"},
  "workspaces": {"flags": {"bytes": "4 * M * ceil_div(N, PART)", "init": "zero"}, "carry": {"bytes": "4 * M * ceil_div(N, PART)"}},
  "kernels": [{"name": "k", "grid": ["ceil_div(N, PART)", "M"], "block": ["32"], "args": ["x", "y", "flags", "carry", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* x, T* y, unsigned* flags, T* carry, int N) {
  const int part = blockIdx.x, at = blockIdx.y * gridDim.x + part, lane = threadIdx.x;
  x += 1ll * blockIdx.y * N;
  y += 1ll * blockIdx.y * N;
  T before = 0;
  if (part > 0) {
    if (lane == 0) {
      while (atomicAdd(flags + at - 1, 0u) == 0) {
      }
      __threadfence();
      before = *static_cast<volatile T*>(carry + at - 1);
    }
    before = __shfl_sync(~0u, before, 0);
  }
  for (int first = part * PART; first < min(N, part * PART + PART); first += 32) {
    T sum = first + lane < N ? x[first + lane] : T(0);
    for (int d = 1; d < 32; d *= 2) {
      const T other = __shfl_up_sync(~0u, sum, d);
      sum += lane >= d ? other : T(0);
    }
    sum += before;
    if (first + lane < N) y[first + lane] = sum;
    before = __shfl_sync(~0u, sum, 31);
  }
  if (lane == 0) {
    *static_cast<volatile T*>(carry + at) = before;
    __threadfence();
    atomicExch(flags + at, 1u);
  }
}
