// SPDX-License-Identifier: Apache-2.0
// Whole candidates through NVRTC and both audits: what must be refused, and what must not.
#include <kfactory/audit.h>

#include "with_compiler.h"

namespace kf {
namespace {

class RealKernels : public WithCompiler {
 protected:
  struct Launch {
    std::vector<std::string> entries{"k"};
    bool cooperative = false, pdl = false;
  };
  // "passed", or the reason for which one of the gates refused it.
  static std::string judge(const std::string& source, const Launch& launch) {
    if (const auto refused = audit_source(source)) {
      return refused->reason;
    }
    const auto build = compile(
        "typedef unsigned int u32; typedef unsigned long long u64;\n#define K extern \"C\" __global__ void\n" + source);
    if (!build) {
      return "does not compile: " + build.error().log;
    }
    LaunchPlan plan;
    for (const std::string& entry : launch.entries) {
      KernelSpec kernel;
      kernel.entry = entry;
      kernel.cooperative = launch.cooperative;
      kernel.pdl = launch.pdl;
      plan.kernels.push_back(std::move(kernel));
    }
    const auto refused = audit_binary(*build, plan, Spec{});
    return refused ? refused->reason + (refused->reason == "unreadable" ? ": " + refused->message : "") : "passed";
  }
  static std::string judge(const std::string& source) { return judge(source, {}); }
};

// ---- cheats ----

TEST_F(RealKernels, RefusesMemoisingInAGlobal) {
  EXPECT_EQ(judge("__device__ float memo[1024]; __device__ u64 tag;\n"
                  "K k(const float* x, float* y, int n) { u64 f = __float_as_uint(x[0]); u32 i = threadIdx.x; if (f == "
                  "tag) { y[i] = memo[i]; return; } memo[i] = y[i] = x[i] * 2; if (i == 0) tag = f; }"),
            "written_global");
}

TEST_F(RealKernels, RefusesACallCounter) {
  EXPECT_EQ(judge("__device__ int calls; K k(float* y) { if (atomicAdd(&calls, 1) < 3) y[0] = 1; }"), "written_global");
  EXPECT_EQ(judge("K k(float* y) { static int calls; y[0] = ++calls; }"), "written_global");
  EXPECT_EQ(judge("#define GLUE(a, b) a##b\nGLUE(__dev, ice__) int calls; K k(float* y) { y[0] = ++calls; }"),
            "written_global");
}

TEST_F(RealKernels, RefusesAGlobalHiddenInInlinePtx) {
  EXPECT_EQ(judge("K k(u32* o) { u32 v; asm volatile(\"{ .global .u32 hid; ld.global.u32 %0, [hid]; add.u32 %0, %0, 1; "
                  "st.global.u32 [hid], %0; }\" : \"=r\"(v)); o[0] = v; }"),
            "written_global");
}

TEST_F(RealKernels, RefusesAHiddenEntryPoint) {
  EXPECT_EQ(judge("K k(u32* o) { o[0] = 1; asm volatile(\"ret; } .visible .global .align 4 .u32 hid2; .visible .entry "
                  "sneaky(.param .u64 p) { ret;\"); }"),
            "extra_entry");
}

TEST_F(RealKernels, RefusesAHiddenFunctionThatWrites) {
  EXPECT_EQ(judge("K k(u32* o) { o[0] = 1; asm volatile(\"call hidden; ret; } .visible .global .align 4 .u32 hid2; "
                  ".func hidden() { st.global.u32 [hid2], 1; ret;\"); }")
                .substr(0, 7),
            "does no");  // a function must be declared before its call
  EXPECT_EQ(judge("K k(u32* o) { asm volatile(\"ret; } .global .align 4 .u32 hid2; .func hidden() { st.global.u32 "
                  "[hid2], 1; ret;\"); }"),
            "written_global");
}

TEST_F(RealKernels, RefusesAnAddressThatIsHandedOut) {
  EXPECT_EQ(judge("__device__ float memo[64]; K k(float** o) { *o = memo; }"), "escaping_global");
  EXPECT_EQ(judge("__device__ float memo[64]; K k(u64* o) { o[0] = (u64)memo ^ 0x5555; }"), "escaping_global");
}

TEST_F(RealKernels, RefusesWritesThroughAFunction) {
  EXPECT_EQ(judge("__device__ float memo[64]; __device__ __noinline__ void put(float* p, int i) { p[i] = 1; } K "
                  "k(float* y, int n) { put(n > 3 ? memo : y, n); }"),
            "written_global");
}

TEST_F(RealKernels, RefusesTheDeviceHeapPrintfAndAssert) {
  EXPECT_EQ(judge("K k(float* y) { float* p = (float*)malloc(64); p[threadIdx.x] = 1; y[0] = p[0]; free(p); }"),
            "forbidden_symbol");
  EXPECT_EQ(judge("K k(float* y) { float* p = new float[3]; p[threadIdx.x & 1] = 1; y[0] = p[0]; }"),
            "forbidden_symbol");
  EXPECT_EQ(judge("K k(float* y) { if (threadIdx.x == 0) printf(\"{\\\"status\\\":\\\"PASS\\\"}\\n\"); y[0] = 1; }"),
            "forbidden_symbol");
  EXPECT_EQ(judge("K k(float* y) { assert(y[0] > 0); }"), "forbidden_symbol");
}

TEST_F(RealKernels, RefusesClocksTimersAndGridNumbers) {
  EXPECT_EQ(judge("K k(u64* y) { y[0] = clock64(); }"), "special_register");
  EXPECT_EQ(judge("K k(u32* y) { u32 g; asm volatile(\"mov.u32 %0, %%clock;\" : \"=r\"(g)); y[0] = g; }"),
            "special_register");
  EXPECT_EQ(judge("K k(u64* y) { u64 g; asm volatile(\"mov.u64 %0, %%gridid;\" : \"=l\"(g)); y[0] = g; }"),
            "special_register");
  EXPECT_EQ(
      judge("K k(u64* y) { u64 g; asm volatile(\"mov.u64 %0, %%globaltimer;\" : \"=l\"(g)); if (g & 1) y[0] = 1; }"),
      "special_register");
  EXPECT_EQ(judge("K k(u64* y) { u64 a, b; asm volatile(\"mov.u64 %0, %%globaltimer;\" : \"=l\"(a)); do { asm "
                  "volatile(\"mov.u64 %0, %%globaltimer;\" : \"=l\"(b)); } while (b - a < 2000); y[0] = 1; }"),
            "special_register");
}

TEST_F(RealKernels, RefusesGriddepcontrolWithoutPdl) {
  const std::string source = "K k(float* y) { asm volatile(\"griddepcontrol.launch_dependents;\"); y[0] = 1; }";
  EXPECT_EQ(judge(source), "griddepcontrol");
  EXPECT_EQ(judge(source, {{"k"}, false, true}), "passed");
}

TEST_F(RealKernels, RefusesAPlanThatNamesOtherKernels) {
  EXPECT_EQ(judge("K a(float* y) { y[0] = 1; } K b(float* y) { y[0] = 2; }", {{"a"}, false, false}), "extra_entry");
  EXPECT_EQ(judge("__global__ void k(float* y) { y[0] = 1; }"), "missing_entry");  // mangled
}

// ---- honest kernels ----

TEST_F(RealKernels, PassesLookUpTables) {
  EXPECT_EQ(judge("__constant__ float table[8] = {1, 2, 3}; __device__ const int lut[16] = {3, 1, 4}; __device__ int "
                  "plain[16] = {2, 7, 1};\n"
                  "K k(float* y, int n) { float s = 0; for (int i = 0; i < n; ++i) s += table[i & 7] * lut[(i * n) & "
                  "15] + plain[i & 15]; for (int v : lut) s += v; static const float st[3] = {1, 2, 3}; y[0] = s + "
                  "st[n]; const char* t = \"abc\"; y[1] = t[n]; }"),
            "passed");
}

TEST_F(RealKernels, PassesTablesBehindPointers) {
  EXPECT_EQ(judge("__device__ const int a[4] = {1, 2}, b[4] = {3, 4}; __device__ const int* const both[2] = {a, b};\n"
                  "__device__ __noinline__ int look(const int* t, int i) { return t[i]; }\n"
                  "K k(int* y, int n) { const int* local[4]; for (int i = 0; i < 4; ++i) local[i] = i & 1 ? a : b + (i "
                  "& n); y[0] = look(n > 2 ? a : b, n) + both[n & 1][n] + *local[n & 3]; }"),
            "passed");
}

TEST_F(RealKernels, PassesGridSynchronisationOfCooperativeLaunches) {
  const std::string source =
      "#include <cooperative_groups.h>\nK k(float* x) { x[0] = 1; cooperative_groups::this_grid().sync(); x[1] = x[0]; "
      "}";
  EXPECT_EQ(judge(source, {{"k"}, true, false}), "passed");
  EXPECT_EQ(judge(source), "special_register");
}

TEST_F(RealKernels, PassesCubCollectives) {
  EXPECT_EQ(judge("#include <cub/block/block_reduce.cuh>\n#include <cub/block/block_scan.cuh>\n#include "
                  "<cub/block/block_radix_sort.cuh>\n"
                  "K k(float* x, u32* v) { using R = cub::BlockReduce<float, 128>; using S = cub::BlockScan<u32, 128>; "
                  "using Q = cub::BlockRadixSort<u32, 128, 2>;\n"
                  "__shared__ union { typename R::TempStorage r; typename S::TempStorage s; typename Q::TempStorage q; "
                  "} t; float sum = R(t.r).Sum(x[threadIdx.x]); __syncthreads();\n"
                  "u32 a = v[threadIdx.x]; S(t.s).InclusiveSum(a, a); __syncthreads(); u32 b[2] = {a, a + 1}; "
                  "Q(t.q).Sort(b); v[threadIdx.x] = b[0] + b[1]; if (threadIdx.x == 0) x[0] = sum; }"),
            "passed");
}

TEST_F(RealKernels, PassesBarriersPipelinesAndAtomics) {
  EXPECT_EQ(
      judge(
          "#include <cuda/barrier>\n#include <cuda/pipeline>\n#include <cuda/atomic>\n#include <cooperative_groups.h>\n"
          "K k(const float* x, float* y, int* c, int n) { __shared__ cuda::barrier<cuda::thread_scope_block> b; "
          "__shared__ float s[2][128]; __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> st;\n"
          "if (threadIdx.x == 0) init(&b, blockDim.x); __syncthreads(); b.arrive_and_wait(); auto g = "
          "cooperative_groups::this_thread_block(); auto p = cuda::make_pipeline(g, &st);\n"
          "for (int i = 0; i < n; ++i) { p.producer_acquire(); cuda::memcpy_async(g, s[i & 1], x + i * 128, "
          "sizeof(float) * 128, p); p.producer_commit(); p.consumer_wait(); y[threadIdx.x] += s[i & 1][threadIdx.x]; "
          "p.consumer_release(); }\n"
          "cuda::atomic_ref<int, cuda::thread_scope_device> a(*c); a.fetch_add(1); a.wait(0); }"),
      "passed");
}

TEST_F(RealKernels, PassesBulkCopiesTensorMapsAndCachePolicies) {
  EXPECT_EQ(judge("struct alignas(64) CUtensorMap { u64 opaque[16]; };\n"
                  "K k(const __grid_constant__ CUtensorMap map, const float* x, float* y) { __shared__ alignas(128) "
                  "float s[1024]; __shared__ u64 bar; u32 b = (u32)__cvta_generic_to_shared(&bar), d = "
                  "(u32)__cvta_generic_to_shared(s);\n"
                  "if (threadIdx.x == 0) { asm volatile(\"mbarrier.init.shared.b64 [%0], 1;\" :: \"r\"(b)); asm "
                  "volatile(\"mbarrier.arrive.expect_tx.shared.b64 _, [%0], 8192;\" :: \"r\"(b));\n"
                  "asm volatile(\"cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], "
                  "[%1, {%2, %3}], [%4];\" :: \"r\"(d), \"l\"(&map), \"r\"(0), \"r\"(0), \"r\"(b) : \"memory\");\n"
                  "u64 p; asm volatile(\"createpolicy.fractional.L2::evict_last.b64 %0, 1.0;\" : \"=l\"(p)); asm "
                  "volatile(\"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], "
                  "[%1], 4096, [%2], %3;\" :: \"r\"(d), \"l\"(x), \"r\"(b), \"l\"(p) : \"memory\"); }\n"
                  "__syncthreads(); asm volatile(\"{ .reg .pred P1; LAB_WAIT: mbarrier.try_wait.parity.shared.b64 P1, "
                  "[%0], %1; @P1 bra DONE; bra LAB_WAIT; DONE: }\" :: \"r\"(b), \"r\"(0));\n"
                  "asm volatile(\"{ .reg .pred P1; LAB_WAIT: mbarrier.try_wait.parity.shared.b64 P1, [%0], %1; @P1 bra "
                  "DONE; bra LAB_WAIT; DONE: }\" :: \"r\"(b), \"r\"(0)); y[threadIdx.x] = s[threadIdx.x]; }"),
            "passed");
}

TEST_F(RealKernels, PassesTensorCoresAndClusters) {
  EXPECT_EQ(
      judge("#include <mma.h>\n#include <cuda_bf16.h>\n#include <cooperative_groups.h>\nusing namespace nvcuda::wmma;\n"
            "K __cluster_dims__(2, 1, 1) k(const __nv_bfloat16* a, const __nv_bfloat16* b, float* c) { "
            "fragment<matrix_a, 16, 16, 16, __nv_bfloat16, row_major> fa; fragment<matrix_b, 16, 16, 16, "
            "__nv_bfloat16, col_major> fb; fragment<accumulator, 16, 16, 16, float> fc;\n"
            "fill_fragment(fc, 0.f); load_matrix_sync(fa, a, 16); load_matrix_sync(fb, b, 16); mma_sync(fc, fa, fb, "
            "fc); __shared__ float s[256]; store_matrix_sync(s, fc, 16, mem_row_major);\n"
            "auto g = cooperative_groups::this_cluster(); g.sync(); float* r = g.map_shared_rank(s, g.block_rank() ^ "
            "1); c[threadIdx.x] = r[threadIdx.x]; g.sync(); }"),
      "passed");
}

TEST_F(RealKernels, PassesLargeDynamicSharedMemoryAndSemaphores) {
  EXPECT_EQ(judge("K k(float* y, float* partial, u32* flags, int n) { extern __shared__ float dyn[]; dyn[threadIdx.x] "
                  "= y[threadIdx.x]; __syncthreads(); float s = 0; for (int i = 0; i < n; ++i) s += dyn[i]; "
                  "partial[blockIdx.x] = s; __threadfence();\n"
                  "__shared__ bool last; if (threadIdx.x == 0) last = atomicAdd(flags, 1) == gridDim.x - 1; "
                  "__syncthreads(); if (last) { s = 0; for (u32 i = 0; i < gridDim.x; ++i) s += ((volatile "
                  "float*)partial)[i]; y[0] = s; if (threadIdx.x == 0) *flags = 0; } }"),
            "passed");
}

TEST_F(RealKernels, PassesMathSwitchesAndRecursionFreeCalls) {
  EXPECT_EQ(judge("__device__ __noinline__ float f(float x, int m) { switch (m) { case 0: return sinf(x); case 1: "
                  "return powf(x, 2.5f); case 2: return erff(x); case 3: return tanhf(x); case 4: return "
                  "(float)lgamma((double)x); default: return x; } }\n"
                  "K k(float* y, int n) { float s = 0; for (int i = 0; i < n; ++i) s += f(y[i], i % 6); y[0] = s; "
                  "__nanosleep(100); }"),
            "passed");
}

TEST_F(RealKernels, GivesEqualHashesToRenamedCandidates) {
  const Build one = built(
      "extern \"C\" __global__ void first(float* x, int n) { float total = 0; for (int i = 0; i < n; ++i) total += "
      "x[i]; x[0] = total; }");
  const Build two = built(
      "// the same, said differently\nextern \"C\" __global__ void second(float* values,\n    int count) {\n  float "
      "sum = 0;\n  for (int j = 0; j < count; ++j) sum += values[j];\n  values[0] = sum;\n}");
  const Build other = built(
      "extern \"C\" __global__ void first(float* x, int n) { float total = 1; for (int i = 0; i < n; ++i) total += "
      "x[i]; x[0] = total; }");
  EXPECT_EQ(normalised_ptx_hash(one.ptx), normalised_ptx_hash(two.ptx));
  EXPECT_NE(normalised_ptx_hash(one.ptx), normalised_ptx_hash(other.ptx));
}

}  // namespace
}  // namespace kf
