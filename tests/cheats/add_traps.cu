// SPDX-License-Identifier: Apache-2.0
// cheat: ends its launch with a trap
// spec: tests/specs/vector_add.json
// refused by: check: checker
// on cuda: check: illegal_access
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["1"], "block": ["32"], "args": ["c"]}] }
*/
extern "C" __global__ void k(T* c) {
  c[0] = static_cast<T>(0.0f);
  asm volatile("trap;");
}
