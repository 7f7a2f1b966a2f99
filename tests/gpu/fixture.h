// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "cuda/cuda_device.h"
#include "gpu/nvrtc.h"
#include "gtest/gtest.h"
#include "kernels/harness/host.h"

namespace kf::gpu_tests {

// A device with the harness loaded, without the lock (the child of a death test shares the GPU with its parent).
// Without a GPU: null, and `why` says so.
std::unique_ptr<Device> open_device(std::string& why);

// Tests on one device of this process. Without a GPU they skip themselves, or fail when KFACTORY_REQUIRE_GPU=1.
class GpuTest : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  Device& device() { return *device_; }
  BufferHandle buffer(std::int64_t bytes, std::int64_t misalign = 0);
  // Compiles for this device and loads; kTestKernels when no source is given.
  ModuleHandle load(const std::string& source);
  void write(BufferHandle buffer, const void* data, std::size_t bytes);
  template <class T>
  void write(BufferHandle to, const std::vector<T>& values) {
    write(to, values.data(), values.size() * sizeof(T));
  }
  template <class T>
  std::vector<T> read(BufferHandle from, std::size_t count) {
    std::vector<T> values(count);
    const auto bytes = device().read(from, 0, static_cast<std::int64_t>(count * sizeof(T)));
    EXPECT_TRUE(bytes) << (bytes ? "" : bytes.error().detail);
    if (bytes) {
      std::memcpy(values.data(), bytes->data(), bytes->size());
    }
    return values;
  }
  void run(ModuleHandle module, const ResolvedPlan& plan, const std::vector<BufferHandle>& tensors,
           const std::vector<BufferHandle>& workspaces = {});

 private:
  Device* device_ = nullptr;
  std::vector<BufferHandle> buffers_;
  std::vector<ModuleHandle> modules_;
};

Build compiled(const std::string& source, const DeviceFacts& facts);

Arg tensor_arg(int index);
Arg workspace_arg(int index);
Arg map_arg(int index);
Arg int_arg(std::int32_t value);
Arg long_arg(std::int64_t value);
Launch launch(std::string entry, std::uint32_t grid, std::uint32_t block, std::vector<Arg> args);
// Launches in a chain.
ResolvedPlan chain(std::vector<Launch> launches);

}  // namespace kf::gpu_tests
