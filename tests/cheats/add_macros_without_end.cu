// SPDX-License-Identifier: Apache-2.0
// cheat: macros that grow to 10^10 additions: a compiler that is let do it takes all memory there is
// spec: tests/specs/vector_add.json
// refused by: compile: memory
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 256)"], "block": ["256"], "args": ["a", "b", "c", "N:i32"]}] }
*/
#define TEN(x) x x x x x x x x x x
#define HUNDRED(x) TEN(TEN(x))
extern "C" __global__ void k(const T* a, const T* b, T* c, int N) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  float sum = 0.0f;
  if (N < 0) {
    TEN(HUNDRED(TEN(HUNDRED(TEN(HUNDRED(TEN(sum += sum * sum;)))))))
  }
  if (i < N) c[i] = static_cast<T>(static_cast<float>(a[i]) + static_cast<float>(b[i]) + sum);
}
