// SPDX-License-Identifier: Apache-2.0
#include "os/toolkit.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "tests/unit/without_nvrtc.h"

namespace kf {
namespace {

// A tree of empty files that look like toolkits.
class ToolkitSearch : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::canonical(testing::TempDir()).string() + "/kf_toolkit_" + std::to_string(::getpid());
    std::filesystem::create_directories(folder_);
    query_.ask_loader = false;
    query_.prefixes = {folder_ + "/prefix"};
    query_.environment = [this](const char* name) -> std::optional<std::string> {
      const auto found = variables_.find(name);
      return found == variables_.end() ? std::nullopt : std::optional(found->second);
    };
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string make(const std::string& path) {
    std::filesystem::create_directories(std::filesystem::path(folder_ + "/" + path).parent_path());
    std::ofstream(folder_ + "/" + path) << "";
    return folder_ + "/" + path;
  }
  std::string folder_;
  std::map<std::string, std::string> variables_;
  ToolkitQuery query_;
};

TEST_F(ToolkitSearch, TakesTheNewestVersionUnderAPrefix) {
  make("prefix/cuda-9.2/lib64/libnvrtc.so.12");
  const std::string newest = make("prefix/cuda-13.0/lib64/libnvrtc.so.13");
  const auto found = find_nvrtc(query_);
  ASSERT_TRUE(found) << to_string(found.error());
  EXPECT_EQ(found->path, newest);
  EXPECT_EQ(found->via, folder_ + "/prefix/cuda-13.0");
}

TEST_F(ToolkitSearch, FindsComputeSanitizerInToolkitsAndInThePath) {
  EXPECT_FALSE(find_compute_sanitizer(query_));
  const std::string newest = make("prefix/cuda-13.0/bin/compute-sanitizer");
  EXPECT_EQ(find_compute_sanitizer(query_)->path, newest);
  query_.ask_loader = true;
  variables_["PATH"] = "relative:" + folder_ + "/tools:/nowhere";
  EXPECT_EQ(find_compute_sanitizer(query_)->path, newest);
  const std::string in_path = make("tools/compute-sanitizer");
  EXPECT_EQ(find_compute_sanitizer(query_)->path, in_path);
  EXPECT_EQ(find_compute_sanitizer(query_)->via, "PATH");
  variables_["CUDA_HOME"] = folder_ + "/c";
  const std::string given = make("c/compute-sanitizer/compute-sanitizer");
  EXPECT_EQ(find_compute_sanitizer(query_)->path, given);
}

TEST_F(ToolkitSearch, PrefersTheOptionThenTheVariables) {
  make("prefix/cuda-13.0/lib64/libnvrtc.so.13");
  const std::string by_path = make("b/lib/libnvrtc.so.12");
  variables_["CUDA_PATH"] = folder_ + "/b";
  EXPECT_EQ(find_nvrtc(query_)->path, by_path);
  EXPECT_EQ(find_nvrtc(query_)->via, "CUDA_PATH=" + folder_ + "/b");
  const std::string by_own = make("c/targets/sbsa-linux/lib/libnvrtc.so.13");
  variables_["KFACTORY_CUDA_ROOT"] = folder_ + "/c";
  EXPECT_EQ(find_nvrtc(query_)->path, by_own);
  const std::string by_option = make("d/lib64/libnvrtc.so.13");
  query_.cuda_root = folder_ + "/d";
  EXPECT_EQ(find_nvrtc(query_)->path, by_option);
  EXPECT_EQ(find_nvrtc(query_)->via, "--cuda-root " + folder_ + "/d");
}

TEST_F(ToolkitSearch, FindsThePythonWheelsOfAnActiveEnvironment) {
  const std::string wheel = make("env/lib/python3.11/site-packages/nvidia/cu13/lib/libnvrtc.so.13");
  make("env/lib/python3.11/site-packages/nvidia/cu13/include/cuda_fp16.h");
  variables_["VIRTUAL_ENV"] = folder_ + "/env";
  const auto found = find_nvrtc(query_);
  ASSERT_TRUE(found) << to_string(found.error());
  EXPECT_EQ(found->path, wheel);
  EXPECT_NE(found->via.find("wheel nvidia/cu13"), std::string::npos);
  EXPECT_EQ(find_cuda_includes(*found, query_)->folders.front(),
            folder_ + "/env/lib/python3.11/site-packages/nvidia/cu13/include");
}

TEST_F(ToolkitSearch, FindsHeadersInAnotherWheelThanTheLibrary) {
  make("env/lib/python3.11/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12");
  make("env/lib/python3.11/site-packages/nvidia/cuda_runtime/include/cuda_fp16.h");
  variables_["VIRTUAL_ENV"] = folder_ + "/env";
  const auto found = find_nvrtc(query_);
  ASSERT_TRUE(found);
  EXPECT_EQ(find_cuda_includes(*found, query_)->folders.front(),
            folder_ + "/env/lib/python3.11/site-packages/nvidia/cuda_runtime/include");
}

TEST_F(ToolkitSearch, FindsCuptiUnderExtras) {
  const std::string cupti = make("prefix/cuda-12.6/extras/CUPTI/lib64/libcupti.so.12");
  EXPECT_EQ(find_cupti(query_)->path, cupti);
}

TEST_F(ToolkitSearch, AddsTheFolderOfLibcudacxx) {
  make("prefix/cuda-13.0/lib64/libnvrtc.so.13");
  make("prefix/cuda-13.0/include/cuda_fp16.h");
  make("prefix/cuda-13.0/include/cccl/cuda/std/cstdint");
  const auto includes = find_cuda_includes(*find_nvrtc(query_), query_);
  ASSERT_TRUE(includes);
  EXPECT_EQ(includes->folders,
            (std::vector{folder_ + "/prefix/cuda-13.0/include", folder_ + "/prefix/cuda-13.0/include/cccl"}));
}

TEST_F(ToolkitSearch, PrefersHeadersBesideTheLibrary) {
  make("prefix/cuda-13.0/include/cuda_fp16.h");
  make("own/include/cuda_fp16.h");
  make("own/lib64/libnvrtc.so.12");
  variables_["CUDA_HOME"] = folder_ + "/own";
  EXPECT_EQ(find_cuda_includes(*find_nvrtc(query_), query_)->folders, (std::vector{folder_ + "/own/include"}));
}

TEST_F(ToolkitSearch, SaysWhereItLookedAndWhatToDo) {
  variables_["CUDA_PATH"] = folder_ + "/b";
  const auto found = find_nvrtc(query_);
  ASSERT_FALSE(found);
  const std::string message = to_string(found.error());
  for (const char* part : {"libnvrtc.so.13 or libnvrtc.so.12", "CUDA_PATH=", "/prefix", "--cuda-root"}) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  }
}

TEST_F(ToolkitSearch, FindsTheBuiltinsBesideNvrtc) {
  const std::string nvrtc = make("x/lib/libnvrtc.so.13");
  EXPECT_EQ(builtins_beside(nvrtc), std::nullopt);
  make("x/lib/libnvrtc-builtins.alt.so.13.0");
  const std::string builtins = make("x/lib/libnvrtc-builtins.so.13.0");
  EXPECT_EQ(builtins_beside(nvrtc), builtins);
}

TEST(Toolkit, FindsTheOneOfThisMachine) {
  const auto nvrtc = find_nvrtc();
  if (!nvrtc) {
    return without_nvrtc(to_string(nvrtc.error()));
  }
  EXPECT_TRUE(std::filesystem::exists(nvrtc->path));
  EXPECT_FALSE(nvrtc->via.empty());
  EXPECT_TRUE(find_cuda_includes(*nvrtc));
}

}  // namespace
}  // namespace kf
