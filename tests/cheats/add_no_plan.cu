// SPDX-License-Identifier: Apache-2.0
// cheat: device code without a plan
// spec: tests/specs/vector_add.json
// refused by: reply: plan
extern "C" __global__ void k(const T* a, const T* b, T* c, int N) {}
