// SPDX-License-Identifier: Apache-2.0
// cheat: writes nothing; hopes that the output's memory still holds an answer
// spec: tests/specs/vector_add.json
// refused by: check: unwritten
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 256)"], "block": ["256"], "args": ["a", "b", "c", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, T* c, int N) {}
