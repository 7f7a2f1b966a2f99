// SPDX-License-Identifier: Apache-2.0
// cheat: constant memory as storage, through a cast
// spec: tests/specs/vector_add.json
// refused by: binary audit: written_global, escaping_global
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["1"], "block": ["256"], "args": ["a", "b", "c", "N:i32"]}] }
*/
__constant__ unsigned calls = 3;
extern "C" __global__ void k(const T* a, const T* b, T* c, int N) {
  if (threadIdx.x == 0) atomicAdd(const_cast<unsigned*>(&calls), 1u);
  for (int i = threadIdx.x; i < N; i += 256) c[i] = static_cast<T>(static_cast<float>(a[i]) + static_cast<float>(b[i]));
}
