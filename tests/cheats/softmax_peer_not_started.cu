// SPDX-License-Identifier: Apache-2.0
// cheat: a block of a cluster writes to its peer before that need have started
// spec: tests/specs/softmax.json
// refused by: check: checker
// says: need not have started
// on cuda: check: illegal_access, mismatch
// on cuda it may run right by chance
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["2 * M"], "block": ["32"], "cluster": ["2"], "args": ["x", "y", "N:i32"]}] }
*/
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(const T* x, T* y, int N) {
  __shared__ float theirs[2];
  const auto cluster = cg::this_cluster();
  const int rank = cluster.block_rank(), half = (N + 1) / 2, first = rank * half, last = min(N, first + half);
  x += 1ll * (blockIdx.x / 2) * N;
  y += 1ll * (blockIdx.x / 2) * N;
  const auto larger = [](float a, float b) { return a != a ? a : b > a || b != b ? b : a; };
  float most = -INFINITY, sum = 0.0f;
  for (int i = first + threadIdx.x; i < last; i += 32) most = larger(most, static_cast<float>(x[i]));
  for (int d = 16; d > 0; d /= 2) most = larger(most, __shfl_xor_sync(~0u, most, d));
  if (threadIdx.x == 0) cluster.map_shared_rank(theirs, rank ^ 1)[0] = most;
  cluster.sync();
  most = larger(most, theirs[0]);
  for (int i = first + threadIdx.x; i < last; i += 32) sum += expf(static_cast<float>(x[i]) - most);
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  if (threadIdx.x == 0) cluster.map_shared_rank(theirs, rank ^ 1)[1] = sum;
  cluster.sync();
  sum += theirs[1];
  for (int i = first + threadIdx.x; i < last; i += 32) y[i] = static_cast<T>(expf(static_cast<float>(x[i]) - most) / sum);
  cluster.sync();
}
