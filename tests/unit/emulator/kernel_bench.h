// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "emulator/emulator.h"
#include "nvrtc.h"
#include "tests/unit/without_nvrtc.h"

namespace kf::emulator_test {

struct Dim {
  std::uint32_t x = 1, y = 1, z = 1;
};
struct Shape {
  Dim grid{}, block{32, 1, 1}, cluster{};
  std::uint32_t shared = 0;
  bool cooperative = false;
};

// A device with one module, buffers of plain C++ types, and launches by hand.
class KernelBench {
 public:
  explicit KernelBench(const std::string& ptx, EmulatorOptions options = {});
  // Allocates, and writes the values; an empty list of values leaves the buffer without any.
  template <class T>
  int buffer(const std::vector<T>& values) {
    const int at = allocate(static_cast<std::int64_t>(values.size() * sizeof(T)));
    EXPECT_TRUE(device_->write(buffers_[at], 0, std::as_bytes(std::span(values))));
    return at;
  }
  int allocate(std::int64_t bytes, std::int64_t misalign = 0);
  template <class T>
  std::vector<T> read(int buffer, std::size_t count) {
    auto bytes = device_->read(buffers_[buffer], 0, static_cast<std::int64_t>(count * sizeof(T)));
    std::vector<T> values(count);
    if (bytes)
      std::memcpy(values.data(), bytes->data(), bytes->size());
    else
      ADD_FAILURE() << bytes.error().detail;
    return values;
  }
  KernelBench& pointer(int buffer) {
    args_.push_back({Arg::Kind::kTensor, buffer, 0, 8});
    return *this;
  }
  template <class T>
  KernelBench& scalar(T value) {
    Arg arg{Arg::Kind::kScalar, 0, 0, sizeof(T)};
    std::memcpy(&arg.bits, &value, sizeof value);
    args_.push_back(arg);
    return *this;
  }
  // Launches with the arguments given since the last launch.
  OrFault<void> launch(const std::string& entry, const Shape& shape) { return launches(entry, shape, 1); }
  // The same launch `times` times in one plan; with `pdl`, each may overlap with the one before.
  OrFault<void> launches(const std::string& entry, const Shape& shape, int times, bool pdl = false);
  // One more launch of a plan that run() carries out, with the arguments given since the last one. Its id is its entry.
  KernelBench& then(const std::string& entry, const Shape& shape, std::vector<int> after, bool pdl = false);
  OrFault<void> run();
  // One launch, counted for an estimate; with its estimated nanoseconds.
  LaunchCounts counts(const std::string& entry, const Shape& shape, double* nanoseconds = nullptr);
  Device& device() { return *device_; }

 private:
  ResolvedPlan plan_of(const std::string& entry, const Shape& shape, int times, bool pdl);

  std::unique_ptr<Device> device_;
  ModuleHandle module_{};
  std::vector<BufferHandle> buffers_;
  std::vector<Arg> args_;
  ResolvedPlan plan_;
};

// The text of the fault; "" when there was none.
std::string fault_of(const OrFault<void>& result);

// Skips the test when there is no NVRTC, see without_nvrtc.h.
#define KF_COMPILE_OR_SKIP(name, source)                              \
  const auto name##_or = ::kf::emulator_test::compile_to_ptx(source); \
  if (!name##_or) return ::kf::without_nvrtc();                       \
  const std::string& name = *name##_or

}  // namespace kf::emulator_test
