// SPDX-License-Identifier: Apache-2.0
// cheat: values are compared as ordered bits, so that +0 beats an earlier -0
// spec: tests/specs/argmax.json
// refused by: check: mismatch
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["M"], "block": ["32"], "args": ["x", "value", "index", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* x, T* value, int* index, int N) {
  x += 1ll * blockIdx.x * N;
  unsigned long long best = 0;
  for (int i = threadIdx.x; i < N; i += 32) {
    const unsigned bits = __float_as_uint(static_cast<float>(x[i]));
    const unsigned ordered = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
    best = max(best, static_cast<unsigned long long>(ordered) << 32 | (0xffffffffu - i));
  }
  for (int d = 16; d > 0; d /= 2) best = max(best, __shfl_xor_sync(~0u, best, d));
  const int at = static_cast<int>(0xffffffffu - static_cast<unsigned>(best));
  if (threadIdx.x == 0) value[blockIdx.x] = x[at], index[blockIdx.x] = at;
}
