// SPDX-License-Identifier: Apache-2.0
// cheat: look-back flags that the next launch would find set
// spec: tests/specs/prefix_sum.json
// refused by: check: workspace_not_restored
/*kfactory
{ "plan": 1,
  "workspaces": {"flags": {"bytes": "4 * M", "init": "zero_restored"}, "carry": {"bytes": "4 * M"}},
  "kernels": [{"name": "k", "grid": ["2", "M"], "block": ["32"], "args": ["x", "y", "flags", "carry", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* x, T* y, unsigned* flags, T* carry, int N) {
  if (threadIdx.x != 0) return;
  const int half = (N + 1) / 2, part = blockIdx.x;
  x += 1ll * blockIdx.y * N;
  y += 1ll * blockIdx.y * N;
  T sum = 0;
  if (part == 1) {
    while (atomicAdd(flags + blockIdx.y, 0u) == 0) {
    }
    __threadfence();
    sum = *const_cast<volatile T*>(carry + blockIdx.y);
  }
  for (int i = part * half; i < min(N, (part + 1) * half); ++i) y[i] = sum += x[i];
  if (part == 0) {
    *const_cast<volatile T*>(carry + blockIdx.y) = sum;
    __threadfence();
    atomicExch(flags + blockIdx.y, 1u);
  }
}
