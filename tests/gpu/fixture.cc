// SPDX-License-Identifier: Apache-2.0
#include "gpu/fixture.h"

#include <cstdlib>

namespace kf::gpu_tests {
namespace {

struct Opened {
  std::unique_ptr<Device> device;
  std::string why;
};
Opened& opened() {
  static Opened instance = [] {
    Opened first;
    first.device = open_device(first.why);
    return first;
  }();
  return instance;
}

// Before static destructors: the driver may be gone by then.
struct CloseDevice : testing::Environment {
  void TearDown() override { opened().device.reset(); }
};
const auto* const kCloseDevice = testing::AddGlobalTestEnvironment(new CloseDevice);

}  // namespace

std::unique_ptr<Device> open_device(std::string& why) {
  CudaOptions options;
  options.lock = false;
  auto device = open_cuda_device(options);
  if (!device) {
    why = device.error().detail;
    return nullptr;
  }
  const auto harness = compile(harness::harness_build_request((*device)->facts().arch));
  if (!harness) {
    why = harness.error();
    return nullptr;
  }
  if (const auto used = (*device)->use_harness(*harness); !used) {
    why = used.error().detail;
    return nullptr;
  }
  return *std::move(device);
}

void GpuTest::SetUp() {
  device_ = opened().device.get();
  if (device_ == nullptr) {
    const char* required = std::getenv("KFACTORY_REQUIRE_GPU");
    if (required != nullptr && std::string(required) == "1") {
      FAIL() << "KFACTORY_REQUIRE_GPU=1, but: " << opened().why;
    }
    GTEST_SKIP() << opened().why;
  }
}

void GpuTest::TearDown() {
  for (const BufferHandle handle : buffers_) {
    device_->release(handle);
  }
  for (const ModuleHandle handle : modules_) {
    device_->unload(handle);
  }
}

BufferHandle GpuTest::buffer(std::int64_t bytes, std::int64_t misalign) {
  const auto handle = device().allocate({bytes, misalign});
  if (!handle) {
    throw std::runtime_error(handle.error().detail);
  }
  buffers_.push_back(*handle);
  return *handle;
}

ModuleHandle GpuTest::load(const std::string& source) {
  const auto handle = device().load(compiled(source, device().facts()));
  if (!handle) {
    throw std::runtime_error(handle.error().detail);
  }
  modules_.push_back(*handle);
  return *handle;
}

void GpuTest::write(BufferHandle buffer, const void* data, std::size_t bytes) {
  const auto written = device().write(buffer, 0, {static_cast<const std::byte*>(data), bytes});
  ASSERT_TRUE(written) << written.error().detail;
}

void GpuTest::run(ModuleHandle module, const ResolvedPlan& plan, const std::vector<BufferHandle>& tensors,
                  const std::vector<BufferHandle>& workspaces) {
  const auto ran = device().run(module, plan, tensors, workspaces, {});
  ASSERT_TRUE(ran) << to_string(ran.error().kind) << ": " << ran.error().detail;
}

Build compiled(const std::string& source, const DeviceFacts& facts) {
  auto build = compile({source, "", facts.arch, {}, {}});
  if (!build) {
    throw std::runtime_error(build.error());
  }
  return *std::move(build);
}

Arg tensor_arg(int index) {
  return {Arg::Kind::kTensor, index, 0, 8};
}
Arg workspace_arg(int index) {
  return {Arg::Kind::kWorkspace, index, 0, 8};
}
Arg map_arg(int index) {
  return {Arg::Kind::kTensorMap, index, 0, 128};
}
Arg int_arg(std::int32_t value) {
  return {Arg::Kind::kScalar, 0, static_cast<std::uint32_t>(value), 4};
}
Arg long_arg(std::int64_t value) {
  return {Arg::Kind::kScalar, 0, static_cast<std::uint64_t>(value), 8};
}

Launch launch(std::string entry, std::uint32_t grid, std::uint32_t block, std::vector<Arg> args) {
  Launch made;
  made.id = entry;
  made.entry = std::move(entry);
  made.grid = {grid, 1, 1};
  made.block = {block, 1, 1};
  made.args = std::move(args);
  return made;
}

ResolvedPlan chain(std::vector<Launch> launches) {
  ResolvedPlan plan;
  for (std::size_t i = 1; i < launches.size(); ++i) {
    launches[i].after = {static_cast<int>(i) - 1};
  }
  plan.launches = std::move(launches);
  return plan;
}

}  // namespace kf::gpu_tests
