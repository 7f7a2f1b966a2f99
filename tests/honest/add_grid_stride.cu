// SPDX-License-Identifier: Apache-2.0
// honest: fewer blocks than elements, by what the device holds
// spec: tests/specs/vector_add.json
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["min(ceil_div(N, 256), resident(k))"], "block": ["256"], "args": ["a", "b", "c", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, T* c, int N) {
  for (int i = blockIdx.x * 256 + threadIdx.x; i < N; i += gridDim.x * 256) {
    c[i] = static_cast<T>(static_cast<float>(a[i]) + static_cast<float>(b[i]));
  }
}
