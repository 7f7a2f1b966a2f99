// SPDX-License-Identifier: Apache-2.0
// cheat: lanes that have no element add what their register happens to hold: it is set on one path only
// spec: tests/specs/softmax.json
// refused by: check: mismatch
// on cuda: check: mismatch or perturbation: mismatch
// on cuda it may run right by chance
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["M"], "block": ["32"], "args": ["x", "y", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* x, T* y, int N) {
  x += 1ll * blockIdx.x * N;
  y += 1ll * blockIdx.x * N;
  float most = -INFINITY, sum = 0.0f;
  bool nan = false;
  for (int i = threadIdx.x; i < N; i += 32) {
    most = fmaxf(most, static_cast<float>(x[i]));
    nan = nan || static_cast<float>(x[i]) != static_cast<float>(x[i]);
  }
  for (int d = 16; d > 0; d /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, d));
  if (__any_sync(~0u, nan)) most = NAN;
  for (int i = threadIdx.x; i < N; i += 32) sum += expf(static_cast<float>(x[i]) - most);
  float share;
  asm volatile("{ .reg .pred has; .reg .f32 own; setp.lt.s32 has, %1, %2; @has mov.f32 own, %3; mov.f32 %0, own; }"
               : "=f"(share) : "r"(threadIdx.x), "r"(N), "f"(sum));
  for (int d = 16; d > 0; d /= 2) share += __shfl_xor_sync(~0u, share, d);
  for (int i = threadIdx.x; i < N; i += 32) y[i] = static_cast<T>(expf(static_cast<float>(x[i]) - most) / share);
}
