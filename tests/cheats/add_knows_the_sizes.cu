// SPDX-License-Identifier: Apache-2.0
// cheat: right for every size that the spec lists, held-out ones too; b is left out for others
// spec: tests/specs/vector_add.json
// refused by: confirm: mismatch or cliffs: mismatch
// options: --confirm
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 256)"], "block": ["256"], "args": ["a", "b", "c", "N:i32"]}] }
*/
__device__ bool listed(int n) {
  return n == 1 || n == 31 || n == 255 || n == 256 || n == 1000 || n == 2048 || n == 4099 || n == 65537 || n == 70001 || n >= 1 << 20;
}
extern "C" __global__ void k(const T* a, const T* b, T* c, int N) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < N) c[i] = static_cast<T>(static_cast<float>(a[i]) + (listed(N) ? static_cast<float>(b[i]) : 0.0f));
}
