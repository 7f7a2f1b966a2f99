// SPDX-License-Identifier: Apache-2.0
#include "cuda/driver.h"

#include <map>
#include <type_traits>

#include "cuda/cuda_device.h"
#include "cuda/facts.h"
#include "cuda/gpu.h"
#include "cuda/nvml.h"
#include "cuda/tensor_map.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kf::cuda {
namespace {

using testing::HasSubstr;

TEST(DriverTable, AsksForTheVersionsThatTheHeaderMeans) {
  std::map<std::string_view, DriverEntry> entries;
  for (const DriverEntry& entry : driver_entries()) {
    EXPECT_TRUE(entries.emplace(entry.name, entry).second) << entry.name << " twice";
  }
  EXPECT_EQ(entries.at("cuMemAlloc").symbol, "cuMemAlloc_v2");
  EXPECT_EQ(entries.at("cuMemFree").symbol, "cuMemFree_v2");
  EXPECT_EQ(entries.at("cuDevicePrimaryCtxRelease").symbol, "cuDevicePrimaryCtxRelease_v2");
  for (const auto& [name, entry] : entries) {
    if (entry.symbol.ends_with("_v2")) {  // 2000 would be the first version of such a function, with 32-bit addresses
      EXPECT_TRUE(entry.version >= 3020 || name == "cuEventElapsedTime") << name;
    }
  }
}

// A signature of the header's current symbol that differed from ours would be an older (or newer) function's.
TEST(DriverTable, HasTheHeadersSignatures){
#define KF_SAME(name, version) \
  EXPECT_TRUE((std::is_same_v<PFN_##name##_v##version, decltype(&::name)>)) << #name " " #version;
    KF_DRIVER_FUNCTIONS(KF_SAME) KF_OPTIONAL_DRIVER_FUNCTIONS(KF_SAME)
#undef KF_SAME
}

TEST(NvmlTable, AsksForVersionedSymbolsWhereNvmlHasThem) {
  const auto symbols = Nvml::symbols();
  EXPECT_THAT(symbols, testing::Contains("nvmlInit_v2"));
  EXPECT_THAT(symbols, testing::Contains("nvmlDeviceGetComputeRunningProcesses_v3"));
  EXPECT_THAT(symbols, testing::Not(testing::Contains("nvmlInit")));
}

TEST(NvmlTable, NamesTheReasonsOfHeldClocks) {
  EXPECT_EQ(clock_reasons_text(0), "");
  EXPECT_EQ(clock_reasons_text(0x4 | 0x40), "power cap, hardware thermal slowdown");
  EXPECT_EQ(clock_reasons_text(0x1 | 0x10000), "idle, 0x10000");
}

TEST(Facts, NameArchitecturesWithTheirFeatures) {
  EXPECT_EQ(arch_text(9, 0), "sm_90a");
  EXPECT_EQ(arch_text(10, 0), "sm_100a");
  EXPECT_EQ(arch_text(8, 6), "sm_86");
}

TEST(Facts, WriteUuidsAsNvmlDoes) {
  CUuuid uuid;
  for (int i = 0; i < 16; ++i) {
    uuid.bytes[i] = static_cast<char>(0xF0 - i);
  }
  EXPECT_EQ(uuid_text(uuid), "GPU-f0efeeed-eceb-eae9-e8e7-e6e5e4e3e2e1");
}

TEST(FaultKind, SetsTheCandidatesFaultsApartFromTheRigs) {
  using Kind = DeviceFault::Kind;
  EXPECT_EQ(fault_kind(CUDA_ERROR_ILLEGAL_ADDRESS, Stage::kSetUp), Kind::kIllegalAccess);
  EXPECT_EQ(fault_kind(CUDA_ERROR_MISALIGNED_ADDRESS, Stage::kSetUp), Kind::kIllegalAccess);
  EXPECT_EQ(fault_kind(CUDA_ERROR_LAUNCH_FAILED, Stage::kLaunch), Kind::kIllegalAccess);
  EXPECT_EQ(fault_kind(CUDA_ERROR_OUT_OF_MEMORY, Stage::kSetUp), Kind::kOutOfMemory);
  EXPECT_EQ(fault_kind(CUDA_ERROR_INVALID_VALUE, Stage::kLaunch), Kind::kLaunchRefused);
  EXPECT_EQ(fault_kind(CUDA_ERROR_INVALID_VALUE, Stage::kSetUp), Kind::kLost);
  EXPECT_EQ(fault_kind(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, Stage::kLaunch), Kind::kLaunchRefused);
  EXPECT_EQ(fault_kind(CUDA_ERROR_NO_BINARY_FOR_GPU, Stage::kSetUp), Kind::kUnsupported);
  EXPECT_EQ(fault_kind(CUDA_ERROR_ECC_UNCORRECTABLE, Stage::kSetUp), Kind::kLost);
  EXPECT_TRUE(leaves_context_unusable(Kind::kTimeout));
  EXPECT_FALSE(leaves_context_unusable(Kind::kLaunchRefused));
}

TEST(TensorMaps, MapEveryTypeToOneOfItsSize) {
  const std::map<CUtensorMapDataType, int> sizes{
      {CU_TENSOR_MAP_DATA_TYPE_UINT8, 1},   {CU_TENSOR_MAP_DATA_TYPE_UINT16, 2},  {CU_TENSOR_MAP_DATA_TYPE_INT32, 4},
      {CU_TENSOR_MAP_DATA_TYPE_INT64, 8},   {CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2}, {CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2},
      {CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4}, {CU_TENSOR_MAP_DATA_TYPE_FLOAT64, 8}};
  for (int dtype = 0; dtype < kDtypeCount; ++dtype) {
    EXPECT_EQ(sizes.at(tensor_map_type(static_cast<Dtype>(dtype))), size_in_bytes(static_cast<Dtype>(dtype))) << dtype;
  }
}

TEST(OpenCudaDevice, SaysWhatIsMissingWithoutAGpu) {
  if (open_driver()) {
    GTEST_SKIP() << "there is a GPU here";
  }
  const auto device = open_cuda_device();
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().kind, DeviceFault::Kind::kLost);
  EXPECT_THAT(device.error().detail, HasSubstr("libcuda.so.1"));
  EXPECT_FALSE(list_cuda_devices());
  const CudaReport report = cuda_report();
  EXPECT_FALSE(report.usable);
  EXPECT_THAT(report.driver, HasSubstr("libcuda.so.1"));
  EXPECT_EQ(report.counters_refused, "there is no GPU");
  EXPECT_FALSE(report.cupti.empty());
}

}  // namespace
}  // namespace kf::cuda
