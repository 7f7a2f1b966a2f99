// SPDX-License-Identifier: Apache-2.0
// Our occupancy arithmetic against the driver's, over register, shared memory and block sizes.
#include "cuda/gpu.h"
#include "gpu/fixture.h"

namespace kf::gpu_tests {
namespace {

struct Occupancy : GpuTest {};

// A kernel that keeps `live` values alive, so that register counts differ.
std::string kernel_with(int live, int static_shared) {
  return "extern \"C\" __global__ void __launch_bounds__(256) busy(float* p) {\n__shared__ float s[" +
         std::to_string(std::max(1, static_shared / 4)) + "];\nfloat v[" + std::to_string(live) +
         "];\n#pragma unroll\nfor (int i = 0; i < " + std::to_string(live) +
         "; ++i) v[i] = p[i * 32 + threadIdx.x];\ns[threadIdx.x % " + std::to_string(std::max(1, static_shared / 4)) +
         "] = v[0];\n__syncthreads();\n#pragma unroll\nfor (int i = 0; i < " + std::to_string(live) +
         "; ++i) p[i * 32 + threadIdx.x] = v[i] * s[0];\n}\n";
}

TEST_F(Occupancy, AgreesWithTheDriver) {
  auto driver = cuda::open_driver();
  ASSERT_TRUE(driver);
  CUdevice ordinal = 0;
  (*driver)->cuDeviceGet(&ordinal, 0);
  const cuda::Gpu gpu(*driver, ordinal);
  const DeviceFacts& facts = device().facts();
  int compared = 0;
  for (const int live : {1, 20, 50, 90, 150}) {
    for (const int static_shared : {4, 1000, 20'000}) {
      const Build build = compiled(kernel_with(live, static_shared), facts);
      const cuda::Module module = cuda::load_module(gpu, build.cubin.data());
      CUfunction function = nullptr;
      ASSERT_EQ(gpu->cuModuleGetFunction(&function, module.get(), "busy"), CUDA_SUCCESS);
      KernelUse use{.entry = "busy", .max_threads = 256};
      int shared = 0;
      gpu->cuFuncGetAttribute(&use.registers, CU_FUNC_ATTRIBUTE_NUM_REGS, function);
      gpu->cuFuncGetAttribute(&shared, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function);
      use.static_shared_bytes = shared;
      gpu->cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                              static_cast<int>(facts.shared_per_block) - shared);
      for (const int threads : {32, 64, 96, 128, 160, 256}) {
        for (const std::int64_t dynamic : {0LL, 1LL, 1000LL, 16'000LL, 50'000LL, 110'000LL, 200'000LL}) {
          if (dynamic + shared > facts.shared_per_block) {
            continue;
          }
          int wanted = 0;
          ASSERT_EQ(gpu->cuOccupancyMaxActiveBlocksPerMultiprocessor(&wanted, function, threads,
                                                                     static_cast<std::size_t>(dynamic)),
                    CUDA_SUCCESS);
          EXPECT_EQ(resident_blocks_per_sm(use, threads, dynamic, facts), wanted)
              << use.registers << " registers, " << threads << " threads, " << shared << " + " << dynamic
              << " bytes shared";
          ++compared;
        }
      }
    }
  }
  EXPECT_GT(compared, 500);
}

}  // namespace
}  // namespace kf::gpu_tests
