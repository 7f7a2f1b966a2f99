// SPDX-License-Identifier: Apache-2.0
// Tensor instructions on inputs whose sums are exact, against a plain matrix product.
#include "emulator/floating.h"
#include "kernel_bench.h"

namespace kf::emulator_test {
namespace {

// D = A B + C for one tile through ldmatrix and mma.m16n8k16 on f16, with small integers.
TEST(Matrix, LdmatrixAndMmaMultiplyHalves) {
  KF_COMPILE_OR_SKIP(ptx, R"(
    typedef unsigned u32;
    extern "C" __global__ void k(const unsigned short* a, const unsigned short* b, const float* c, float* d, unsigned short* back) {
      __shared__ __align__(16) unsigned short sa[16 * 16], sb[8 * 16], so[16 * 16];   // a: row major 16x16; b: column major, 8 columns of 16
      for (int i = threadIdx.x; i < 256; i += 32) sa[i] = a[i];
      for (int i = threadIdx.x; i < 128; i += 32) sb[i] = b[i];
      __syncwarp();
      int l = threadIdx.x;
      u32 pa = (u32)__cvta_generic_to_shared(sa + (l % 16) * 16 + (l / 16) * 8), pb = (u32)__cvta_generic_to_shared(sb + (l % 8) * 16 + (l / 8 % 2) * 8);
      u32 ra[4], rb[2]; float f[4];
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(ra[0]), "=r"(ra[1]), "=r"(ra[2]), "=r"(ra[3]) : "r"(pa));
      asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];" : "=r"(rb[0]), "=r"(rb[1]) : "r"(pb));
      int row = l / 4, column = 2 * (l % 4);
      for (int n = 0; n < 4; ++n) f[n] = c[(row + 8 * (n / 2)) * 8 + column + (n & 1)];
      asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                   : "+f"(f[0]), "+f"(f[1]), "+f"(f[2]), "+f"(f[3]) : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
      for (int n = 0; n < 4; ++n) d[(row + 8 * (n / 2)) * 8 + column + (n & 1)] = f[n];
      for (int m = 0; m < 4; ++m) asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %0;" : "+r"(ra[m]));
      u32 po = (u32)__cvta_generic_to_shared(so + (l % 16) * 16 + (l / 16) * 8);
      asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1,%2,%3,%4};" :: "r"(po), "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]) : "memory");
      __syncwarp();
      for (int i = threadIdx.x; i < 256; i += 32) back[i] = so[i];
    })");
  using emulator::float_to_half;
  std::vector<std::uint16_t> a(256), b(128);
  std::vector<float> c(128), want(128);
  for (int i = 0; i < 256; ++i) a[i] = float_to_half(static_cast<float>(i * 7 % 13 - 6));
  for (int i = 0; i < 128; ++i) b[i] = float_to_half(static_cast<float>(i * 5 % 11 - 5)), c[i] = static_cast<float>(i);
  for (int r = 0; r < 16; ++r)
    for (int n = 0; n < 8; ++n) {
      want[r * 8 + n] = c[r * 8 + n];
      for (int k = 0; k < 16; ++k)
        want[r * 8 + n] +=
            static_cast<float>((r * 16 + k) * 7 % 13 - 6) * static_cast<float>((n * 16 + k) * 5 % 11 - 5);
    }
  KernelBench bench(ptx);
  const int da = bench.buffer(a), db = bench.buffer(b), dc = bench.buffer(c), dd = bench.allocate(512),
            back = bench.allocate(512);
  ASSERT_EQ(fault_of(bench.pointer(da).pointer(db).pointer(dc).pointer(dd).pointer(back).launch("k", {{1}, {32}})), "");
  EXPECT_EQ(bench.read<float>(dd, 128), want);
  EXPECT_EQ(bench.read<std::uint16_t>(back, 256), a);  // transposed twice
}

TEST(Matrix, MmaOfBytesAndOfTf32MatchTheirFragmentLayouts) {
  KF_COMPILE_OR_SKIP(ptx, R"(
    typedef unsigned u32;
    extern "C" __global__ void k(const signed char* a, const signed char* b, int* d, float* t) {   // a 16x32 rows, b 8 columns of 32
      int l = threadIdx.x, g = l / 4, q = l % 4; u32 ra[4], rb[2]; int f[4] = {0, 0, 0, 0};
      for (int r = 0; r < 4; ++r) ra[r] = *(const u32*)(a + (g + 8 * (r & 1)) * 32 + (r / 2) * 16 + q * 4);
      for (int r = 0; r < 2; ++r) rb[r] = *(const u32*)(b + g * 32 + r * 16 + q * 4);
      asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                   : "+r"(f[0]), "+r"(f[1]), "+r"(f[2]), "+r"(f[3]) : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
      for (int n = 0; n < 4; ++n) d[(g + 8 * (n / 2)) * 8 + 2 * q + (n & 1)] = f[n];
      float x[4] = {0, 0, 0, 0}; u32 xa[4], xb[2];
      for (int r = 0; r < 4; ++r) xa[r] = __float_as_uint((float)a[(g + 8 * (r & 1)) * 32 + (r / 2) * 4 + q]);
      for (int r = 0; r < 2; ++r) xb[r] = __float_as_uint((float)b[g * 32 + r * 4 + q]);
      asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                   : "+f"(x[0]), "+f"(x[1]), "+f"(x[2]), "+f"(x[3]) : "r"(xa[0]), "r"(xa[1]), "r"(xa[2]), "r"(xa[3]), "r"(xb[0]), "r"(xb[1]));
      for (int n = 0; n < 4; ++n) t[(g + 8 * (n / 2)) * 8 + 2 * q + (n & 1)] = x[n];
    })");
  std::vector<std::int8_t> a(512), b(256);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<std::int8_t>(i * 37 % 251);
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<std::int8_t>(i * 91 % 253);
  std::vector<int> want(128);
  std::vector<float> first(128);
  for (int r = 0; r < 16; ++r)
    for (int n = 0; n < 8; ++n)
      for (int k = 0; k < 32; ++k) {
        want[r * 8 + n] += a[r * 32 + k] * b[n * 32 + k];
        if (k < 8) first[r * 8 + n] += static_cast<float>(a[r * 32 + k] * b[n * 32 + k]);
      }
  KernelBench bench(ptx);
  const int da = bench.buffer(a), db = bench.buffer(b), dd = bench.allocate(512), dt = bench.allocate(512);
  ASSERT_EQ(fault_of(bench.pointer(da).pointer(db).pointer(dd).pointer(dt).launch("k", {{1}, {32}})), "");
  EXPECT_EQ(bench.read<int>(dd, 128), want);
  EXPECT_EQ(bench.read<float>(dt, 128), first);
}

}  // namespace
}  // namespace kf::emulator_test
