// SPDX-License-Identifier: Apache-2.0
// cheat: nothing runs at all for sizes below the tile
// spec: tests/specs/vector_add.json
// refused by: plan: limits
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["N / 262144"], "block": ["256"], "args": ["a", "b", "c", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, T* c, int N) {}
