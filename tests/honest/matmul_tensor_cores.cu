// SPDX-License-Identifier: Apache-2.0
// honest: mma.sync on bfloat16 tiles, plain products for float32
// spec: tests/specs/matmul.json
/*kfactory
{ "plan": 1,
  "define": {"USE_MMA": "sizeof(T) == 2 ? 1 : 0"},
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 8)", "ceil_div(M, 16)"], "block": ["32"], "args": ["a", "b", "c", "M:i32", "N:i32", "K:i32", "LDA:i32"]}] }
*/
extern "C" __global__ void __launch_bounds__(32) k(const T* a, const T* b, T* c, int M, int N, int K, int LDA) {
  const int lane = threadIdx.x, group = lane / 4, pair = lane % 4 * 2, top = blockIdx.y * 16, left = blockIdx.x * 8;
#if USE_MMA
  const auto bits_a = [&](int row, int k) -> unsigned {
    return top + row < M && k < K ? __bfloat16_as_ushort(a[(top + row) * LDA + k]) : 0;
  };
  const auto bits_b = [&](int k, int column) -> unsigned {
    return k < K && left + column < N ? __bfloat16_as_ushort(b[k * N + left + column]) : 0;
  };
  float d[4] = {};
  for (int k = 0; k < K; k += 16) {
    unsigned x[4], y[2];
    for (int i = 0; i < 4; ++i) {
      const int row = group + i % 2 * 8, at = k + pair + i / 2 * 8;
      x[i] = bits_a(row, at) | bits_a(row, at + 1) << 16;
    }
    for (int i = 0; i < 2; ++i) y[i] = bits_b(k + pair + i * 8, group) | bits_b(k + pair + i * 8 + 1, group) << 16;
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
  }
  for (int i = 0; i < 4; ++i) {
    const int row = top + group + i / 2 * 8, column = left + pair + i % 2;
    if (row < M && column < N) c[row * N + column] = static_cast<T>(d[i]);
  }
#else
  for (int i = lane; i < 128; i += 32) {
    const int row = top + i / 8, column = left + i % 8;
    float sum = 0.0f;
    for (int k = 0; row < M && column < N && k < K; ++k) sum += static_cast<float>(a[row * LDA + k]) * static_cast<float>(b[k * N + column]);
    if (row < M && column < N) c[row * N + column] = static_cast<T>(sum);
  }
#endif
}
