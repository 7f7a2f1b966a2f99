// SPDX-License-Identifier: Apache-2.0
// cheat: reads through the read-only cache (ld.global.nc) what other threads of the same launch have just written
// spec: tests/specs/vector_add.json
// refused by: check: checker
// says: non-coherent
// on cuda: check: mismatch
// on cuda it may run right by chance: the line may not be in that cache yet
/*kfactory
{ "plan": 1,
  "workspaces": {"part": {"bytes": "4 * 256 * ceil_div(N, 256)"}},
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 256)"], "block": ["256"], "args": ["a", "b", "c", "part", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, T* c, float* part, int N) {
  const int i = blockIdx.x * 256 + threadIdx.x, j = i ^ 255;
  part[j] = j < N ? static_cast<float>(a[j]) : 0.0f;
  __syncthreads();
  if (i < N) c[i] = static_cast<T>(__ldg(part + i) + static_cast<float>(b[i]));
}
