// SPDX-License-Identifier: Apache-2.0
// cheat: keeps a partial result in its input and puts back what was there
// spec: tests/specs/vector_add.json
// refused by: check: input_changed
// says: inputs are read-only
// on cuda it may run right by chance
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 256)"], "block": ["256"], "args": ["a", "b", "c", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, T* c, int N) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= N) return;
  T* w = const_cast<T*>(a);
  const T u = a[i];
  w[i] = T(static_cast<float>(a[i]) + static_cast<float>(b[i]));
  __threadfence();
  c[i] = w[i];
  w[i] = u;
}
