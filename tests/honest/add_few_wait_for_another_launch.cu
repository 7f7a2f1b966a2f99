// SPDX-License-Identifier: Apache-2.0
// honest: the second launch runs beside the first and waits for its flags, in so few blocks that the first always fits beside it
// spec: tests/specs/vector_add.json
/*kfactory
{ "plan": 1,
  "workspaces": {"f": {"bytes": "4 * max(1, ceil_div(N, 256))", "init": "zero"}},
  "kernels": [{"name": "p", "grid": ["ceil_div(N, 256)"], "block": ["256"], "args": ["a", "c", "f", "N:i32"]},
              {"name": "k", "after": [], "grid": ["min(ceil_div(N, 256), 16)"], "block": ["256"], "args": ["b", "c", "f", "N:i32"]}] }
*/
// The rule (docs/gates.md): launches beside each other start in any order. Both write c, the second after the first.
template <int B> struct Bits { using type = unsigned short; };
template <> struct Bits<4> { using type = unsigned; };
using Word = Bits<sizeof(T)>::type;
union Value { Word bits; T value; __device__ Value() {} };
extern "C" __global__ void p(const T* a, volatile Word* c, unsigned* f, int N) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  Value v;
  if (i < N) {
    v.value = a[i];
    c[i] = v.bits;
  }
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) atomicExch(f + blockIdx.x, 1u);
}
extern "C" __global__ void k(const T* b, volatile Word* c, unsigned* f, int N) {
  for (int tile = blockIdx.x; tile < (N + 255) / 256; tile += gridDim.x) {
    if (threadIdx.x == 0) {
      while (atomicAdd(f + tile, 0u) == 0u) {
      }
      __threadfence();
    }
    __syncthreads();
    const int i = tile * 256 + threadIdx.x;
    Value v;
    if (i < N) {
      v.bits = c[i];
      v.value = T(float(v.value) + float(b[i]));
      c[i] = v.bits;
    }
    __syncthreads();
  }
}
