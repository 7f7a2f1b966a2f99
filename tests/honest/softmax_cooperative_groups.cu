// SPDX-License-Identifier: Apache-2.0
// honest: reductions of cooperative groups, whose headers bring unused module variables
// spec: tests/specs/softmax.json
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["M"], "block": ["64"], "args": ["x", "y", "N:i32"]}] }
*/
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(const T* x, T* y, int N) {
  const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  if (threadIdx.x >= 32) return;
  x += 1ll * blockIdx.x * N;
  y += 1ll * blockIdx.x * N;
  const auto larger = [](float a, float b) { return a != a ? a : b > a || b != b ? b : a; };
  float most = -INFINITY, sum = 0.0f;
  for (int i = warp.thread_rank(); i < N; i += 32) most = larger(most, static_cast<float>(x[i]));
  most = cg::reduce(warp, most, larger);
  for (int i = warp.thread_rank(); i < N; i += 32) sum += expf(static_cast<float>(x[i]) - most);
  sum = cg::reduce(warp, sum, cg::plus<float>());
  for (int i = warp.thread_rank(); i < N; i += 32) y[i] = static_cast<T>(expf(static_cast<float>(x[i]) - most) / sum);
}
