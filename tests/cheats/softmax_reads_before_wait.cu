// SPDX-License-Identifier: Apache-2.0
// cheat: the second kernel reads the first one's maxima before griddepcontrol.wait
// spec: tests/specs/softmax.json
// refused by: check: checker
// on cuda: check: mismatch
// on cuda it may run right by chance: the first kernel may have ended before
/*kfactory
{ "plan": 1,
  "workspaces": {"most": {"bytes": "4 * M"}},
  "kernels": [{"name": "maxima", "grid": ["M"], "block": ["32"], "args": ["x", "most", "N:i32"]},
              {"name": "k", "grid": ["M"], "block": ["32"], "args": ["x", "most", "y", "N:i32"], "launch": {"pdl": true}}] }
*/
extern "C" __global__ void __launch_bounds__(32) maxima(const T* x, float* row_most, int N) {
  asm volatile("griddepcontrol.launch_dependents;");
  x += 1ll * blockIdx.x * N;
  float most = -INFINITY;
  bool nan = false;
  for (int i = threadIdx.x; i < N; i += 32) {
    most = fmaxf(most, static_cast<float>(x[i]));
    nan = nan || static_cast<float>(x[i]) != static_cast<float>(x[i]);
  }
  for (int d = 16; d > 0; d /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, d));
  if (__any_sync(~0u, nan)) most = NAN;
  if (threadIdx.x == 0) row_most[blockIdx.x] = most;
}
extern "C" __global__ void __launch_bounds__(32) k(const T* x, const float* row_most, T* y, int N) {
  x += 1ll * blockIdx.x * N;
  y += 1ll * blockIdx.x * N;
  const float most = row_most[blockIdx.x];
  asm volatile("griddepcontrol.wait;" ::: "memory");
  float sum = 0.0f;
  for (int i = threadIdx.x; i < N; i += 32) sum += expf(static_cast<float>(x[i]) - most);
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  for (int i = threadIdx.x; i < N; i += 32) y[i] = static_cast<T>(expf(static_cast<float>(x[i]) - most) / sum);
}
