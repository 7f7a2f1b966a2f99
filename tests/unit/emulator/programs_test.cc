// SPDX-License-Identifier: Apache-2.0
// CUDA C++ compiled by NVRTC, results compared with the host's.
#include <algorithm>
#include <bit>
#include <cmath>
#include <fstream>
#include <numeric>

#include "kernel_bench.h"

namespace kf::emulator_test {
namespace {

TEST(Programs, SaxpyWithATailGivesTheHostsResult) {
  KF_COMPILE_OR_SKIP(ptx, R"(extern "C" __global__ void saxpy(const float* x, float* y, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
  })");
  KernelBench bench(ptx);
  const int n = 1000;
  std::vector<float> x(n), y(n);
  for (int i = 0; i < n; ++i) x[i] = 0.5f * static_cast<float>(i), y[i] = static_cast<float>(i);
  const int dx = bench.buffer(x), dy = bench.buffer(y);
  ASSERT_EQ(fault_of(bench.pointer(dx).pointer(dy).scalar(3.0f).scalar(n).launch("saxpy", {{8}, {128}})), "");
  const auto out = bench.read<float>(dy, n);
  for (int i = 0; i < n; ++i) ASSERT_EQ(out[i], 3.0f * x[i] + y[i]) << i;
}

constexpr const char* kRmsNorm = R"(
#include <cuda_bf16.h>
extern "C" __global__ void rms(const __nv_bfloat16* x, const float* w, __nv_bfloat16* y, float* rstd, int n, float eps) {
  __shared__ float part[32];
  const __nv_bfloat16* row = x + (size_t)blockIdx.x * n;
  float s = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) { float v = __bfloat162float(row[i]); s += v * v; }
  for (int d = 16; d; d >>= 1) s += __shfl_xor_sync(~0u, s, d);
  if (!(threadIdx.x & 31)) part[threadIdx.x >> 5] = s;
  __syncthreads();
  s = 0;
  for (int i = 0; i < (int)blockDim.x / 32; ++i) s += part[i];
  float q = rsqrtf(s / n + eps);
  for (int i = threadIdx.x; i < n; i += blockDim.x) y[(size_t)blockIdx.x * n + i] = __float2bfloat16(__bfloat162float(row[i]) * q * w[i]);
  if (threadIdx.x == 0) rstd[blockIdx.x] = q;
})";

TEST(Programs, RmsNormWithBlockReductionIsWithinOneUlp) {
  KF_COMPILE_OR_SKIP(ptx, kRmsNorm);
  KernelBench bench(ptx);
  const int m = 5, n = 777;
  std::vector<std::uint16_t> x(m * n);
  std::vector<float> w(n);
  auto wide = [](std::uint16_t h) { return std::bit_cast<float>(std::uint32_t{h} << 16); };
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(std::sin(static_cast<float>(i))) >> 16);
  for (int i = 0; i < n; ++i) w[i] = 1.0f + 0.001f * static_cast<float>(i);
  const int dx = bench.buffer(x), dw = bench.buffer(w), dy = bench.allocate(2 * m * n), dr = bench.allocate(4 * m);
  ASSERT_EQ(fault_of(bench.pointer(dx).pointer(dw).pointer(dy).pointer(dr).scalar(n).scalar(1e-6f).launch(
                "rms", {{m}, {256}})),
            "");
  const auto y = bench.read<std::uint16_t>(dy, x.size());
  for (int r = 0; r < m; ++r) {
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += std::pow(static_cast<double>(wide(x[r * n + i])), 2);
    const double q = 1 / std::sqrt(sum / n + 1e-6);
    for (int i = 0; i < n; ++i) {
      const double exact = wide(x[r * n + i]) * q * w[i];
      ASSERT_NEAR(wide(y[r * n + i]), exact, std::abs(exact) / 256 + 1e-12) << r << "," << i;
    }
  }
}

TEST(Programs, TheBundledNaiveRmsNormRunsForEveryTypeAndWithAbsentTensors) {
  std::ifstream file(KF_SOURCE_DIR "/specs/rmsnorm_fwd.naive.cu");
  const std::string source(std::istreambuf_iterator<char>(file), {});
  ASSERT_FALSE(source.empty());
  for (const std::string type : {"float", "__half", "__nv_bfloat16"}) {
    KF_COMPILE_OR_SKIP(ptx,
                       "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\nusing T = " + type + ";\n#line 1\n" + source);
    KernelBench bench(ptx);
    const int m = 3, n = 1000;
    const std::size_t size = type == "float" ? 4 : 2;
    const int x = bench.buffer(std::vector<std::uint8_t>(m * n * size, 0x3c)),
              w = bench.buffer(std::vector<float>(n, 2.0f));
    const int y = bench.allocate(static_cast<std::int64_t>(m * n * size)), rstd = bench.allocate(4 * m);
    const auto result = bench.pointer(x)
                            .scalar(std::uint64_t{0})
                            .pointer(w)
                            .pointer(y)
                            .scalar(std::uint64_t{0})
                            .pointer(rstd)
                            .scalar(std::int64_t{n})
                            .scalar(std::int64_t{n})
                            .scalar(1e-6f)
                            .launch("rmsnorm_naive", {{m}, {256}});
    ASSERT_EQ(fault_of(result), "") << type;
    const std::uint64_t bits = 0x3c3c3c3c;
    const double value = type == "float"    ? std::bit_cast<float>(std::uint32_t(bits))
                         : type == "__half" ? 1.05859375
                                            : std::bit_cast<float>(0x3c3c0000u);
    EXPECT_NEAR(bench.read<float>(rstd, 3)[2], 1 / std::sqrt(value * value + 1e-6), 1e-3) << type;
  }
}

TEST(Programs, CallsLoopsLocalArraysAndSwitchesAgreeWithTheHost) {
  KF_COMPILE_OR_SKIP(ptx, R"(
    __device__ __noinline__ int slow(int x, int n) { int t[8]; for (int i = 0; i < 8; ++i) t[i] = x + i; for (int i = 0; i < n; ++i) t[i & 7] = t[(i + 3) & 7] * 3 + i; return t[n & 7]; }
    extern "C" __global__ void k(int* out) {
      int v = threadIdx.x, r = 0;
      switch (v % 9) { case 0: r = slow(v, v); break; case 1: r = v * v; break; case 2: r = slow(v, 3) - slow(v + 1, 5); break; case 3: r = -v; break;
        case 4: r = v / 3; break; case 5: r = v % 7; break; case 6: r = 77; break; case 7: r = v << 3; break; default: r = 1000 - v; }
      for (int i = 0; i < v % 5; ++i) r += slow(i, v % 11);
      out[v] = r;
    })");
  auto slow = [](int x, int n) {
    int t[8];
    for (int i = 0; i < 8; ++i) t[i] = x + i;
    for (int i = 0; i < n; ++i)
      t[i & 7] = static_cast<int>(static_cast<unsigned>(t[(i + 3) & 7]) * 3u + static_cast<unsigned>(i));
    return t[n & 7];
  };
  KernelBench bench(ptx);
  const int out = bench.allocate(4 * 96);
  ASSERT_EQ(fault_of(bench.pointer(out).launch("k", {{1}, {96}})), "");
  const auto got = bench.read<int>(out, 96);
  for (int v = 0; v < 96; ++v) {
    int r = 0;
    switch (v % 9) {
      case 0:
        r = slow(v, v);
        break;
      case 1:
        r = v * v;
        break;
      case 2:
        r = static_cast<int>(static_cast<unsigned>(slow(v, 3)) - static_cast<unsigned>(slow(v + 1, 5)));
        break;
      case 3:
        r = -v;
        break;
      case 4:
        r = v / 3;
        break;
      case 5:
        r = v % 7;
        break;
      case 6:
        r = 77;
        break;
      case 7:
        r = v << 3;
        break;
      default:
        r = 1000 - v;
    }
    for (int i = 0; i < v % 5; ++i)
      r = static_cast<int>(static_cast<unsigned>(r) + static_cast<unsigned>(slow(i, v % 11)));
    EXPECT_EQ(got[v], r) << v;
  }
}

TEST(Programs, AGridBarrierOfCooperativeGroupsOrdersBlocks) {
  KF_COMPILE_OR_SKIP(ptx, R"(
    #include <cooperative_groups.h>
    extern "C" __global__ void k(int* a, int* b) {
      a[blockIdx.x * blockDim.x + threadIdx.x] = blockIdx.x + 1;
      cooperative_groups::this_grid().sync();
      int s = 0;
      for (int i = 0; i < (int)gridDim.x; ++i) s += a[i * blockDim.x + threadIdx.x];
      b[blockIdx.x * blockDim.x + threadIdx.x] = s;
    })");
  KernelBench bench(ptx);
  const int a = bench.allocate(4 * 512), b = bench.allocate(4 * 512);
  Shape shape{{8}, {64}};
  shape.cooperative = true;
  ASSERT_EQ(fault_of(bench.pointer(a).pointer(b).launch("k", shape)), "");
  for (const int v : bench.read<int>(b, 512)) ASSERT_EQ(v, 36);
}

TEST(Programs, CubBlockReduceScanAndSortGiveTheHostsResults) {
  KF_COMPILE_OR_SKIP(ptx, R"(
    #include <cub/block/block_reduce.cuh>
    #include <cub/block/block_scan.cuh>
    #include <cub/block/block_radix_sort.cuh>
    extern "C" __global__ void k(const int* in, int* sum, int* scan, int* sorted) {
      using Reduce = cub::BlockReduce<int, 128>; using Scan = cub::BlockScan<int, 128>; using Sort = cub::BlockRadixSort<int, 128, 4>;
      __shared__ union { Reduce::TempStorage r; Scan::TempStorage s; Sort::TempStorage o; } t;
      int v = in[threadIdx.x];
      int total = Reduce(t.r).Sum(v);
      if (threadIdx.x == 0) *sum = total;
      __syncthreads();
      int prefix; Scan(t.s).InclusiveSum(v, prefix);
      scan[threadIdx.x] = prefix;
      __syncthreads();
      int keys[4]; for (int i = 0; i < 4; ++i) keys[i] = in[threadIdx.x * 4 + i];
      Sort(t.o).Sort(keys);
      for (int i = 0; i < 4; ++i) sorted[threadIdx.x * 4 + i] = keys[i];
    })");
  KernelBench bench(ptx);
  std::vector<int> in(512);
  for (int i = 0; i < 512; ++i) in[i] = (i * 7919) % 1009 - 500;
  const int din = bench.buffer(in), sum = bench.allocate(4), scan = bench.allocate(512), sorted = bench.allocate(2048);
  ASSERT_EQ(fault_of(bench.pointer(din).pointer(sum).pointer(scan).pointer(sorted).launch("k", {{1}, {128}})), "");
  std::vector<int> prefix(128);
  std::partial_sum(in.begin(), in.begin() + 128, prefix.begin());
  EXPECT_EQ(bench.read<int>(sum, 1)[0], prefix.back());
  EXPECT_EQ(bench.read<int>(scan, 128), prefix);
  std::ranges::sort(in);
  EXPECT_EQ(bench.read<int>(sorted, 512), in);
}

}  // namespace
}  // namespace kf::emulator_test
