// SPDX-License-Identifier: Apache-2.0
// cheat: memory from the device's heap outlives the launch
// spec: tests/specs/vector_add.json
// refused by: binary audit: forbidden_symbol
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["1"], "block": ["256"], "args": ["a", "b", "c", "N:i32"]}] }
*/
extern "C" __device__ void* malloc(size_t);
extern "C" __global__ void k(const T* a, const T* b, T* c, int N) {
  float* kept = static_cast<float*>(malloc(16));
  if (kept != nullptr) kept[0] = 1.0f;
  for (int i = threadIdx.x; i < N; i += 256) c[i] = static_cast<T>(static_cast<float>(a[i]) + static_cast<float>(b[i]));
}
