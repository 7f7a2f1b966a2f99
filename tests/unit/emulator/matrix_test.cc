// SPDX-License-Identifier: Apache-2.0
// Tensor instructions on inputs whose sums are exact, against a plain matrix product.
#include <gmock/gmock.h>

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

// Through the toolkit's mma.h: two tiles along k, loaded in both layouts, accumulated, scaled element by element,
// stored.
TEST(Matrix, WmmaOfTheToolkitMultipliesHalvesInBothLayouts) {
  KF_COMPILE_OR_SKIP(ptx, R"(
    #include <mma.h>
    using namespace nvcuda;
    extern "C" __global__ void k(const __half* a, const __half* b, float* d, float* t) {   // a 16x32 row major, b 32x16 column major
      wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> fa; wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> fb;
      wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc; wmma::fill_fragment(acc, 1.0f);
      for (int s = 0; s < 32; s += 16) { wmma::load_matrix_sync(fa, a + s, 32); wmma::load_matrix_sync(fb, b + s, 32); wmma::mma_sync(acc, fa, fb, acc); }
      for (int i = 0; i < acc.num_elements; ++i) acc.x[i] *= 2;
      wmma::store_matrix_sync(d, acc, 16, wmma::mem_row_major); wmma::store_matrix_sync(t, acc, 16, wmma::mem_col_major);
    })");
  using emulator::float_to_half;
  auto a = [](int r, int k) { return (r * 32 + k) * 7 % 13 - 6; };
  auto b = [](int k, int n) { return (n * 32 + k) * 5 % 11 - 5; };
  std::vector<std::uint16_t> ha(512), hb(512);
  std::vector<float> want(256), transposed(256);
  for (int r = 0; r < 16; ++r)
    for (int k = 0; k < 32; ++k) {
      ha[r * 32 + k] = float_to_half(static_cast<float>(a(r, k)));
      hb[r * 32 + k] = float_to_half(static_cast<float>(b(k, r)));
    }
  for (int r = 0; r < 16; ++r)
    for (int n = 0; n < 16; ++n) {
      int sum = 1;
      for (int k = 0; k < 32; ++k) sum += a(r, k) * b(k, n);
      want[r * 16 + n] = transposed[n * 16 + r] = static_cast<float>(2 * sum);
    }
  KernelBench bench(ptx);
  const int da = bench.buffer(ha), db = bench.buffer(hb), dd = bench.allocate(1024), dt = bench.allocate(1024);
  ASSERT_EQ(fault_of(bench.pointer(da).pointer(db).pointer(dd).pointer(dt).launch("k", {{1}, {32}})), "");
  EXPECT_EQ(bench.read<float>(dd, 256), want);
  EXPECT_EQ(bench.read<float>(dt, 256), transposed);
}

// One step of a wgmma-like kernel's register traffic: groups give up and take registers.
std::string registers(const std::string& of_group_0, const std::string& of_group_1) {
  const std::string ptx =
      ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 out)\n.maxntid 256\n"
      ".maxnreg 128\n{\n.reg .pred %p<2>; .reg .b32 %r<3>; .reg .b64 %d<3>;\nmov.u32 %r1, %tid.x;\n"
      "setp.ge.u32 %p1, %r1, 128;\n@%p1 bra ONE;\n" +
      of_group_0 + "\nbra.uni END;\nONE:\n" + of_group_1 +
      "\nEND:\nld.param.u64 %d1, [out];\nmad.wide.u32 %d1, %r1, 4, %d1;\nst.global.u32 [%d1], %r1;\nret;\n}\n";
  EmulatorOptions options;
  options.step_budget = 1'000'000;
  KernelBench bench(ptx, options);
  const int out = bench.allocate(1024);
  return fault_of(bench.pointer(out).launch("k", {{1}, {256}}));
}

TEST(Registers, AWarpgroupMayTakeWhatAnotherHasGivenUp) {
  EXPECT_EQ(registers("setmaxnreg.inc.sync.aligned.u32 200;", "setmaxnreg.dec.sync.aligned.u32 56;"), "");
}

TEST(Registers, BrokenRulesOfSetmaxnregAreFindings) {
  EXPECT_THAT(registers("setmaxnreg.inc.sync.aligned.u32 200; bar.sync 0;", "bar.sync 0;"),
              testing::HasSubstr("budget"));
  EXPECT_THAT(registers("setmaxnreg.dec.sync.aligned.u32 20;", ""),
              testing::HasSubstr("a multiple of 8 from 24 to 256"));
  EXPECT_THAT(registers("setmaxnreg.dec.sync.aligned.u32 64; setmaxnreg.dec.sync.aligned.u32 72;", ""),
              testing::HasSubstr("setmaxnreg.dec to 72 from 64"));
  EXPECT_THAT(registers("setp.ge.u32 %p1, %r1, 32; @%p1 setmaxnreg.dec.sync.aligned.u32 64; @!%p1 "
                        "setmaxnreg.dec.sync.aligned.u32 64;",
                        ""),
              testing::HasSubstr("another warp of its warpgroup has executed"));
  EXPECT_THAT(registers("setp.ge.u32 %p1, %r1, 16; @%p1 setmaxnreg.dec.sync.aligned.u32 64;", ""),
              testing::HasSubstr("without all lanes"));
}

}  // namespace
}  // namespace kf::emulator_test
