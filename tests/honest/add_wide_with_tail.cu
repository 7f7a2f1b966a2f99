// SPDX-License-Identifier: Apache-2.0
// honest: sixteen-byte loads and a scalar tail
// spec: tests/specs/vector_add.json
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(N * sizeof(T), 16 * 128)"], "block": ["128"], "args": ["a", "b", "c", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, T* c, int N) {
  constexpr int kEach = 16 / sizeof(T);
  const int first = (blockIdx.x * 128 + threadIdx.x) * kEach;
  if (first + kEach <= N) {
    const uint4 x = *reinterpret_cast<const uint4*>(a + first), y = *reinterpret_cast<const uint4*>(b + first);
    uint4 z;
    const T *p = reinterpret_cast<const T*>(&x), *q = reinterpret_cast<const T*>(&y);
    T* r = reinterpret_cast<T*>(&z);
    for (int j = 0; j < kEach; ++j) r[j] = static_cast<T>(static_cast<float>(p[j]) + static_cast<float>(q[j]));
    *reinterpret_cast<uint4*>(c + first) = z;
  } else {
    for (int i = first; i < N; ++i) c[i] = static_cast<T>(static_cast<float>(a[i]) + static_cast<float>(b[i]));
  }
}
