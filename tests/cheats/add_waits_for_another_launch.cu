// SPDX-License-Identifier: Apache-2.0
// cheat: a launch that waits for the one beside it fills the GPU where it starts first: it ends on small sizes alone
// spec: tests/specs/vector_add.json
// refused by: timed run: timeout
// not on the emulator: launches that nothing orders begin in the plan's order there
/*kfactory
{ "plan": 1,
  "workspaces": {"f": {"bytes": "4 * max(1, ceil_div(N, 256))", "init": "zero"}},
  "kernels": [{"name": "p", "grid": ["ceil_div(N, 256)"], "block": ["256"], "args": ["a", "c", "f", "N:i32"]},
              {"name": "k", "after": [], "grid": ["ceil_div(N, 256)"], "block": ["256"], "args": ["b", "c", "f", "N:i32"]}] }
*/
// Both write c, the second after the first.
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
  if (threadIdx.x == 0) {
    while (atomicAdd(f + blockIdx.x, 0u) == 0u) {
    }
    __threadfence();
  }
  __syncthreads();
  const int i = blockIdx.x * 256 + threadIdx.x;
  Value v;
  if (i < N) {
    v.bits = c[i];
    v.value = T(float(v.value) + float(b[i]));
    c[i] = v.bits;
  }
}
