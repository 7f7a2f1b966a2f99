// SPDX-License-Identifier: Apache-2.0
// honest: value and complemented index in one 64-bit key, by atomic maximum: any order gives the same
// spec: tests/specs/argmax.json
/*kfactory
{ "plan": 1,
  "workspaces": {"keys": {"bytes": "8 * M", "init": "zero"}},
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 128)", "M"], "block": ["128"], "args": ["x", "keys", "N:i32"]},
              {"name": "unpack", "grid": ["ceil_div(M, 64)"], "block": ["64"], "args": ["x", "keys", "value", "index", "M:i32", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* x, unsigned long long* keys, int N) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  if (i >= N) return;
  const unsigned bits = __float_as_uint(static_cast<float>(x[1ll * blockIdx.y * N + i]) + 0.0f);  // -0 equals +0
  const unsigned ordered = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
  atomicMax(keys + blockIdx.y, static_cast<unsigned long long>(ordered) << 32 | (0xffffffffu - i));
}
extern "C" __global__ void unpack(const T* x, const unsigned long long* keys, T* value, int* index, int M, int N) {
  const int row = blockIdx.x * 64 + threadIdx.x;
  if (row >= M) return;
  index[row] = static_cast<int>(0xffffffffu - static_cast<unsigned>(keys[row]));
  value[row] = x[1ll * row * N + index[row]];
}
