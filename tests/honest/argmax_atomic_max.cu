// SPDX-License-Identifier: Apache-2.0
// honest: blocks unite by atomicMax on packed keys; a dependent launch unpacks them
// spec: tests/specs/argmax.json
/*kfactory
{ "plan": 1,
  "workspaces": {"best": {"bytes": "8 * M", "init": "zero"}},
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 512)", "M"], "block": ["128"], "args": ["x", "best", "N:i32"]},
              {"name": "f", "grid": ["ceil_div(M, 32)"], "block": ["32"], "args": ["x", "best", "value", "index", "M:i32", "N:i32"], "launch": {"pdl": true}}] }
*/
#include <cub/block/block_reduce.cuh>
extern "C" __global__ void k(const T* x, unsigned long long* best, int N) {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  using Reduce = cub::BlockReduce<unsigned long long, 128>;
  __shared__ typename Reduce::TempStorage room;
  unsigned long long own = 0;
  const int end = min(N, int(blockIdx.x + 1) * 512);
  for (int i = blockIdx.x * 512 + threadIdx.x; i < end; i += 128) {
    const float v = static_cast<float>(x[1ll * blockIdx.y * N + i]) + 0.0f;
    const int bits = __float_as_int(v);
    const unsigned key = bits < 0 ? ~bits : bits | 0x80000000u;
    const unsigned long long packed = (static_cast<unsigned long long>(key) << 32) | (0xffffffffu - i);
    own = max(own, packed);
  }
  own = Reduce(room).Reduce(own, [](unsigned long long a, unsigned long long b) { return a > b ? a : b; });
  if (threadIdx.x == 0) atomicMax(best + blockIdx.y, own);
}
extern "C" __global__ void f(const T* x, const unsigned long long* best, T* value, int* index, int M, int N) {
  asm volatile("griddepcontrol.wait;" ::: "memory");
  const int row = blockIdx.x * 32 + threadIdx.x;
  if (row >= M) return;
  const int at = 0xffffffffu - static_cast<unsigned>(best[row]);
  index[row] = at;
  value[row] = x[1ll * row * N + at];
}
