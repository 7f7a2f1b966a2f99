// SPDX-License-Identifier: Apache-2.0
// cheat: one barrier too few where shared memory is used again
// spec: tests/specs/softmax.json
// refused by: check: checker
// on cuda: check: mismatch
// on cuda it may run right by chance: the fault is a race
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["M"], "block": ["128"], "args": ["x", "y", "N:i32"]}] }
*/
extern "C" __global__ void __launch_bounds__(128) k(const T* x, T* y, int N) {
  __shared__ float parts[4];
  x += 1ll * blockIdx.x * N;
  y += 1ll * blockIdx.x * N;
  const auto larger = [](float a, float b) { return b > a || b != b ? b : a; };
  float most = -INFINITY, sum = 0.0f;
  for (int i = threadIdx.x; i < N; i += 128) most = larger(most, static_cast<float>(x[i]));
  for (int d = 16; d > 0; d /= 2) most = larger(most, __shfl_xor_sync(~0u, most, d));
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = most;
  __syncthreads();
  most = larger(larger(parts[0], parts[1]), larger(parts[2], parts[3]));
  for (int i = threadIdx.x; i < N; i += 128) sum += expf(static_cast<float>(x[i]) - most);
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
  __syncthreads();
  sum = parts[0] + parts[1] + parts[2] + parts[3];
  for (int i = threadIdx.x; i < N; i += 128) y[i] = static_cast<T>(expf(static_cast<float>(x[i]) - most) / sum);
}
