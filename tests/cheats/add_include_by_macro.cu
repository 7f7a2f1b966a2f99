// SPDX-License-Identifier: Apache-2.0
// cheat: the same with a name that a macro makes
// spec: tests/specs/vector_add.json
// refused by: source audit: include
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["1"], "block": ["256"], "args": ["a", "b", "c", "N:i32"]}] }
*/
#define WHERE "/etc/hostname"
#include WHERE
extern "C" __global__ void k(const T* a, const T* b, T* c, int N) {}
