// SPDX-License-Identifier: Apache-2.0
// cheat: a grid-wide barrier that counts one block too many and never opens
// spec: tests/specs/prefix_sum.json
// refused by: check: timeout, checker
/*kfactory
{ "plan": 1,
  "workspaces": {"count": {"bytes": "4", "init": "zero"}},
  "kernels": [{"name": "k", "grid": ["M"], "block": ["32"], "args": ["x", "y", "count", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* x, T* y, unsigned* count, int N) {
  if (threadIdx.x == 0) {
    atomicAdd(count, 1u);
    while (atomicAdd(count, 0u) <= gridDim.x) {
    }
    T sum = 0;
    for (int i = 0; i < N; ++i) y[1ll * blockIdx.x * N + i] = sum += x[1ll * blockIdx.x * N + i];
  }
}
