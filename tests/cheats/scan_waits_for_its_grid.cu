// SPDX-License-Identifier: Apache-2.0
// cheat: a barrier over the whole grid without a cooperative launch: it opens as long as all blocks happen to be resident
// spec: tests/specs/prefix_sum.json
// refused by: perturbation: timeout
// on cuda: timed run: timeout
/*kfactory
{ "plan": 1,
  "workspaces": {"count": {"bytes": "4", "init": "zero"}},
  "kernels": [{"name": "k", "grid": ["M"], "block": ["1024"], "args": ["x", "y", "count", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* x, T* y, unsigned* count, int N) {
  if (threadIdx.x == 0) {
    atomicAdd(count, 1u);
    while (atomicAdd(count, 0u) < gridDim.x) {
    }
    double sum = 0;
    for (int i = 0; i < N; ++i) y[1ll * blockIdx.x * N + i] = static_cast<T>(sum += static_cast<double>(x[1ll * blockIdx.x * N + i]));
  }
}
