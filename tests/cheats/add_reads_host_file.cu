// SPDX-License-Identifier: Apache-2.0
// cheat: a host file's lines would stand in the compiler's log
// spec: tests/specs/vector_add.json
// refused by: source audit: include
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["1"], "block": ["256"], "args": ["a", "b", "c", "N:i32"]}] }
*/
#include "/etc/hostname"
extern "C" __global__ void k(const T* a, const T* b, T* c, int N) {}
