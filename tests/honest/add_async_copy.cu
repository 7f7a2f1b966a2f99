// SPDX-License-Identifier: Apache-2.0
// honest: cp.async with its wait
// spec: tests/specs/vector_add.json
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 512)"], "block": ["128"], "args": ["a", "b", "c", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, T* c, int N) {
  __shared__ __align__(16) T tile[512];
  constexpr int kEach = 4 / sizeof(T);
  const int first = blockIdx.x * 512;
  const unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(tile));
  for (int i = threadIdx.x; i < 512 / kEach; i += 128) {
    if (first + (i + 1) * kEach <= N) {
      asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to + 4 * i), "l"(a + first + i * kEach) : "memory");
    } else {
      for (int j = i * kEach; j < (i + 1) * kEach && first + j < N; ++j) tile[j] = a[first + j];
    }
  }
  asm volatile("cp.async.commit_group;\n cp.async.wait_group 0;" ::: "memory");
  __syncthreads();
  for (int i = threadIdx.x; i < 512 && first + i < N; i += 128) {
    c[first + i] = static_cast<T>(static_cast<float>(tile[i]) + static_cast<float>(b[first + i]));
  }
}
