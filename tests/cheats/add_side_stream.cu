// SPDX-License-Identifier: Apache-2.0
// cheat: asks for a stream of its own, outside the timed window
// spec: tests/specs/vector_add.json
// refused by: reply: plan
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "stream": "side", "grid": ["ceil_div(N, 256)"], "block": ["256"], "args": ["a", "b", "c", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, T* c, int N) {}
