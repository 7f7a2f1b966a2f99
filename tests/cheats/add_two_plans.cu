// SPDX-License-Identifier: Apache-2.0
// cheat: two plans, one for the checker and one for the clock
// spec: tests/specs/vector_add.json
// refused by: reply: plan
/*kfactory
{ "plan": 1, "kernels": [{"name": "k", "grid": ["1"], "block": ["32"], "args": ["a", "b", "c", "N:i32"]}] }
*/
/*kfactory
{ "plan": 1, "kernels": [{"name": "q", "grid": ["1"], "block": ["32"], "args": ["a", "b", "c", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, T* c, int N) {}
extern "C" __global__ void q(const T* a, const T* b, T* c, int N) {}
