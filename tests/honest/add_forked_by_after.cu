// SPDX-License-Identifier: Apache-2.0
// honest: two launches side by side, a third that waits for both
// spec: tests/specs/vector_add.json
/*kfactory
{ "plan": 1,
  "workspaces": {"w": {"bytes": "4 * max(N, 1)"}},
  "kernels": [{"name": "p", "id": "p", "grid": ["ceil_div(N, 256)"], "block": ["256"], "args": ["a", "w", "N:i32", "0:i32"]}, {"name": "p", "id": "q", "after": [], "grid": ["ceil_div(N, 256)"], "block": ["256"], "args": ["a", "w", "N:i32", "1:i32"]}, {"name": "k", "after": ["p", "q"], "grid": ["ceil_div(N, 256)"], "block": ["256"], "args": ["b", "c", "w", "N:i32"]}] }
*/
extern "C" __global__ void p(const T* a, float* w, int N, int odd) { const int i = blockIdx.x * 256 + threadIdx.x; if (i < N && i % 2 == odd) w[i] = float(a[i]); }
extern "C" __global__ void k(const T* b, T* c, const float* w, int N) { const int i = blockIdx.x * 256 + threadIdx.x; if (i < N) c[i] = T(w[i] + float(b[i])); }
