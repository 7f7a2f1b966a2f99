// SPDX-License-Identifier: Apache-2.0
// cheat: asks the compiler whether a file exists
// spec: tests/specs/vector_add.json
// refused by: source audit: forbidden_name
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["1"], "block": ["256"], "args": ["a", "b", "c", "N:i32"]}] }
*/
#if __has_include("/etc/passwd")
#define HERE 1
#endif
extern "C" __global__ void k(const T* a, const T* b, T* c, int N) {}
