// SPDX-License-Identifier: Apache-2.0
// cheat: waits for all groups of copies but one
// spec: tests/specs/softmax.json
// refused by: check: checker
// says: asynchronous copy is still writing
// on cuda it may run right by chance
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["M"], "block": ["32"], "args": ["x", "y", "N:i32"], "shared": "N * 4 + 16"}] }
*/
extern "C" __global__ void __launch_bounds__(32) k(const T* x, T* y, int N) {
  extern __shared__ float s[];
  x += 1ll * blockIdx.x * N;
  y += 1ll * blockIdx.x * N;
  if (sizeof(T) == 4 && (reinterpret_cast<unsigned long long>(x) & 3) == 0) {
    for (int i = threadIdx.x; i < N; i += 32) {
      asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(static_cast<unsigned>(__cvta_generic_to_shared(s + i))), "l"(x + i) : "memory");
      asm volatile("cp.async.commit_group;" ::: "memory");
    }
    asm volatile("cp.async.wait_group 1;" ::: "memory");
  } else {
    for (int i = threadIdx.x; i < N; i += 32) s[i] = static_cast<float>(x[i]);
  }
  float most = -INFINITY, sum = 0.0f;
  bool nan = false;
  for (int i = threadIdx.x; i < N; i += 32) { most = fmaxf(most, s[i]); nan = nan || s[i] != s[i]; }
  for (int d = 16; d > 0; d /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, d));
  if (__any_sync(~0u, nan)) most = NAN;
  for (int i = threadIdx.x; i < N; i += 32) sum += expf(s[i] - most);
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  for (int i = threadIdx.x; i < N; i += 32) y[i] = static_cast<T>(expf(s[i] - most) / sum);
}
