// SPDX-License-Identifier: Apache-2.0
// cheat: the same behind a digraph and a line splice
// spec: tests/specs/vector_add.json
// refused by: source audit: include
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["1"], "block": ["256"], "args": ["a", "b", "c", "N:i32"]}] }
*/
%:inc\
lude </etc/hostname>
extern "C" __global__ void k(const T* a, const T* b, T* c, int N) {}
