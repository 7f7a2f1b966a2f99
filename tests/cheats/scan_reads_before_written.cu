// SPDX-License-Identifier: Apache-2.0
// cheat: the second half waits some time for the first half's sum instead of for a flag
// spec: tests/specs/prefix_sum.json
// refused by: check: checker
// on cuda: check: mismatch
/*kfactory
{ "plan": 1,
  "workspaces": {"carry": {"bytes": "4 * M"}},
  "kernels": [{"name": "k", "grid": ["2", "M"], "block": ["32"], "args": ["x", "y", "carry", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* x, T* y, T* carry, int N) {
  if (threadIdx.x != 0) return;
  const int half = (N + 1) / 2, part = 1 - blockIdx.x;
  x += 1ll * blockIdx.y * N;
  y += 1ll * blockIdx.y * N;
  if (part == 1) __nanosleep(100);
  T sum = part == 1 ? *const_cast<volatile T*>(carry + blockIdx.y) : T(0);
  for (int i = part * half; i < min(N, (part + 1) * half); ++i) y[i] = sum += x[i];
  if (part == 0) *const_cast<volatile T*>(carry + blockIdx.y) = sum;
}
