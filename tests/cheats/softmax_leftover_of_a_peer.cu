// SPDX-License-Identifier: Apache-2.0
// cheat: what another block of the cluster has in shared memory that nobody wrote decides
// spec: tests/specs/softmax.json
// refused by: check: checker
// on cuda: check: mismatch or perturbation: mismatch or passes
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["2", "M"], "block": ["32"], "cluster": [2], "args": ["x", "y", "N:i32"]}] }
*/
#include <cooperative_groups.h>
extern "C" __global__ void k(const T* x, T* y, int N) {
  __shared__ unsigned kept[32];
  auto cluster = cooperative_groups::this_cluster();
  cluster.sync();
  const unsigned seen = *static_cast<volatile unsigned*>(cluster.map_shared_rank(&kept[3], 1 - cluster.block_rank()));
  cluster.sync();
  if (threadIdx.x == 3) *static_cast<volatile unsigned*>(&kept[3]) = 0xC0FFEE;
  x += 1ll * blockIdx.y * N;
  y += 1ll * blockIdx.y * N;
  float most = -INFINITY, sum = 0.0f;
  bool nan = false;
  for (int i = threadIdx.x; i < N; i += 32) {
    most = fmaxf(most, static_cast<float>(x[i]));
    nan = nan || static_cast<float>(x[i]) != static_cast<float>(x[i]);
  }
  for (int d = 16; d > 0; d /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, d));
  if (__any_sync(~0u, nan)) most = NAN;
  for (int i = threadIdx.x; i < N; i += 32) sum += expf(static_cast<float>(x[i]) - most);
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  if (seen == 0xC0FFEE) sum = 1.0f;
  for (int i = threadIdx.x + 32 * blockIdx.x; i < N; i += 64) y[i] = static_cast<T>(expf(static_cast<float>(x[i]) - most) / sum);
}
