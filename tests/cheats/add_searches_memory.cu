// SPDX-License-Identifier: Apache-2.0
// cheat: scans all memory around for an array that looks like a sum
// spec: tests/specs/vector_add.json
// refused by: check: checker
// on cuda: check: illegal_access, mismatch
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 256)"], "block": ["256"], "args": ["a", "b", "c", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, T* c, int N) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  const float want = static_cast<float>(a[0]) + static_cast<float>(b[0]);
  const T* found = a;
  for (int page = 1; page < 1 << 16; ++page) {
    const T* guess = a + page * (512 / sizeof(T));
    if (static_cast<float>(*guess) == want) {
      found = guess;
      break;
    }
  }
  if (i < N) c[i] = found[i];
}
