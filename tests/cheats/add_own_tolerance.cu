// SPDX-License-Identifier: Apache-2.0
// cheat: brings a tolerance of its own
// spec: tests/specs/vector_add.json
// refused by: reply: plan
/*kfactory
{ "plan": 1,
  "tolerance": {"c": {"ulp": 1000000}},
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 256)"], "block": ["256"], "args": ["a", "b", "c", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, T* c, int N) {}
