// SPDX-License-Identifier: Apache-2.0
// cheat: constant memory as storage, its address laundered through an integer
// spec: tests/specs/vector_add.json
// refused by: binary audit: written_global, escaping_global
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["1"], "block": ["256"], "args": ["a", "b", "c", "N:i32"]}] }
*/
__constant__ unsigned calls = 3;
extern "C" __global__ void k(const T* a, const T* b, T* c, int N) {
  unsigned long long address = reinterpret_cast<unsigned long long>(&calls);
  asm volatile("" : "+l"(address));
  if (threadIdx.x == 0) atomicAdd(reinterpret_cast<unsigned*>(address), 1u);
  for (int i = threadIdx.x; i < N; i += 256) c[i] = static_cast<T>(static_cast<float>(a[i]) + static_cast<float>(b[i]));
}
