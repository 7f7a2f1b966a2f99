// SPDX-License-Identifier: Apache-2.0
// cheat: the plan names another kernel than the file has
// spec: tests/specs/vector_add.json
// refused by: binary audit: missing_entry, extra_entry
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "fast", "grid": ["ceil_div(N, 256)"], "block": ["256"], "args": ["a", "b", "c", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, T* c, int N) {}
