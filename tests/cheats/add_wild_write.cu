// SPDX-License-Identifier: Apache-2.0
// cheat: writes far away, so that the next candidate meets a broken device
// spec: tests/specs/vector_add.json
// refused by: check: checker
// on cuda: check: illegal_access
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 256)"], "block": ["256"], "args": ["c"]}] }
*/
extern "C" __global__ void k(T* c) {
  c[(1ll << 40) + threadIdx.x] = static_cast<T>(1.0f);
}
