// SPDX-License-Identifier: Apache-2.0
// cheat: a plan that binds no output
// spec: tests/specs/vector_add.json
// refused by: plan: limits
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 256)"], "block": ["256"], "args": ["a", "b", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, int N) {}
