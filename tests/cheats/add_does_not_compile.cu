// SPDX-License-Identifier: Apache-2.0
// cheat: no C++
// spec: tests/specs/vector_add.json
// refused by: compile: errors
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["1"], "block": ["256"], "args": ["a", "b", "c", "N:i32"]}] }
*/
#error all checks passed
extern "C" __global__ void k(const T* a, const T* b, T* c, int N) {}
