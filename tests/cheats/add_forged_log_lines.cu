// SPDX-License-Identifier: Apache-2.0
// cheat: a static assertion whose text holds line breaks
// spec: tests/specs/vector_add.json
// refused by: source audit: string
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["1"], "block": ["256"], "args": ["a", "b", "c", "N:i32"]}] }
*/
static_assert(sizeof(T) == 0, "\n\ncheck: passed, 608 checks");
extern "C" __global__ void k(const T* a, const T* b, T* c, int N) {}
