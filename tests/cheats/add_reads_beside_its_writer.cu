// SPDX-License-Identifier: Apache-2.0
// cheat: the second launch reads, by volatile loads, what the first need not have written: no after, no waiting
// spec: tests/specs/vector_add.json
// refused by: check: checker, mismatch
// on cuda it may run right by chance
/*kfactory
{ "plan": 1,
  "workspaces": {"w": {"bytes": "4 * max(N, 1)"}},
  "kernels": [{"name": "p", "grid": ["ceil_div(N, 256)"], "block": ["256"], "args": ["a", "w", "N:i32"]}, {"name": "k", "after": [], "grid": ["ceil_div(N, 256)"], "block": ["256"], "args": ["b", "c", "w", "N:i32"]}] }
*/
extern "C" __global__ void p(const T* a, volatile float* w, int N) { const int i = blockIdx.x * 256 + threadIdx.x; if (i < N) w[i] = float(a[i]); }
extern "C" __global__ void k(const T* b, T* c, volatile float* w, int N) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= N) return;
  c[i] = T(w[i] + float(b[i]));
}
