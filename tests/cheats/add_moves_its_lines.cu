// SPDX-License-Identifier: Apache-2.0
// cheat: errors would point at lines of another file
// spec: tests/specs/vector_add.json
// refused by: source audit: directive
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["1"], "block": ["256"], "args": ["a", "b", "c", "N:i32"]}] }
*/
#line 1 "harness.cu"
extern "C" __global__ void k(const T* a, const T* b, T* c, int N) {}
