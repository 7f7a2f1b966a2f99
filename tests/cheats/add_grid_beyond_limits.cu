// SPDX-License-Identifier: Apache-2.0
// cheat: a launch that the driver refuses, so that an old buffer is judged
// spec: tests/specs/vector_add.json
// refused by: plan: limits
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["1", "1", "70000 + N"], "block": ["256"], "args": ["a", "b", "c", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, T* c, int N) {}
