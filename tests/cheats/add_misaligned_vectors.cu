// SPDX-License-Identifier: Apache-2.0
// cheat: vector loads from an address that is no multiple of sixteen bytes
// spec: tests/specs/vector_add.json
// refused by: check: checker
// on cuda: check: illegal_access
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["1"], "block": ["256"], "args": ["a", "b", "c", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, T* c, int N) {
  const int each = 16 / sizeof(T);
  for (int i = threadIdx.x; i < (N - 1) / each; i += 256) {
    const uint4 x = *reinterpret_cast<const uint4*>(a + 1 + i * each), y = *reinterpret_cast<const uint4*>(b + 1 + i * each);
    const T *p = reinterpret_cast<const T*>(&x), *q = reinterpret_cast<const T*>(&y);
    for (int j = 0; j < each; ++j) c[1 + i * each + j] = static_cast<T>(static_cast<float>(p[j]) + static_cast<float>(q[j]));
  }
}
