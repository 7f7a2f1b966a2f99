// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <kfactory/device.h>
#include "cuda/driver.h"

namespace kf::cuda {

// Inside src/cuda a fault travels as an exception, so that events, streams and graphs unwind; every verb of the device
// turns it into its OrFault. It never leaves this folder.
struct Faulted {
  DeviceFault fault;
};

// Runs work of ours around a plan: its faults are never the candidate's.
template <class Body>
auto as_ours(Body body) -> decltype(body()) {
  try {
    return body();
  } catch (Faulted& faulted) {
    faulted.fault.ours = true;
    throw;
  }
}

// What a result of the driver means. `at_launch`: refusals are the plan's, and not a sign that the device is lost.
enum class Stage : std::uint8_t { kSetUp, kLaunch };
DeviceFault::Kind fault_kind(CUresult result, Stage stage);
// After such a fault the context answers nothing but errors.
bool leaves_context_unusable(DeviceFault::Kind kind);

// One device's primary context, current on the thread that uses it, and a stream.
class Gpu {
 public:
  Gpu(std::shared_ptr<const Driver> driver, CUdevice device);
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  const Driver& driver() const { return *driver_; }
  const Driver* operator->() const { return driver_.get(); }
  CUdevice device() const { return device_; }
  CUcontext context() const { return context_; }
  CUstream stream() const { return stream_; }
  int attribute(CUdevice_attribute attribute) const;

  // Throws Faulted unless `result` is success.
  void check(CUresult result, const char* call, Stage stage = Stage::kSetUp) const;
  // Waits until `stream` has drained. Throws kTimeout after `deadline`, and then the device is dead.
  void wait(CUstream stream, std::chrono::milliseconds deadline);
  void wait(std::chrono::milliseconds deadline) { wait(stream_, deadline); }

  // Makes room for a local frame of this size in every thread. A launch that needs more than there is would wait for
  // the device to drain, which never happens behind a closed gate.
  void reserve_stack(int bytes_per_thread);

  // True after an illegal access or a timeout: nothing can be freed or launched any more, and destructors must not try
  // (they would wait for a kernel that never ends).
  bool dead() const { return dead_; }
  void mark_dead() { dead_ = true; }

 private:
  std::shared_ptr<const Driver> driver_;
  CUdevice device_;
  CUcontext context_ = nullptr;
  CUstream stream_ = nullptr;
  int stack_bytes_ = 1024;  // CUDA's default
  bool dead_ = false;
};

// How long our own kernels may take.
inline constexpr std::chrono::milliseconds kOwnDeadline{30'000};

// A handle that knows its device; released unless the device is dead.
template <class Traits>
class Handle {
 public:
  using Value = typename Traits::Value;
  Handle() = default;
  Handle(const Gpu& gpu, Value value) : gpu_(&gpu), value_(value) {}
  Handle(Handle&& other) noexcept : gpu_(other.gpu_), value_(std::exchange(other.value_, Value{})) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(gpu_, other.gpu_);
    std::swap(value_, other.value_);
    return *this;
  }
  ~Handle() {
    if (value_ != Value{} && !gpu_->dead()) {
      Traits::release(gpu_->driver(), value_);
    }
  }
  Value get() const { return value_; }
  explicit operator bool() const { return value_ != Value{}; }

 private:
  const Gpu* gpu_ = nullptr;
  Value value_{};
};

struct EventTraits {
  using Value = CUevent;
  static void release(const Driver& driver, CUevent event) { driver.cuEventDestroy(event); }
};
struct StreamTraits {
  using Value = CUstream;
  static void release(const Driver& driver, CUstream stream) { driver.cuStreamDestroy(stream); }
};
struct ModuleTraits {
  using Value = CUmodule;
  static void release(const Driver& driver, CUmodule module) { driver.cuModuleUnload(module); }
};
struct MemoryTraits {
  using Value = CUdeviceptr;
  static void release(const Driver& driver, CUdeviceptr memory) { driver.cuMemFree(memory); }
};
struct GraphTraits {
  using Value = CUgraph;
  static void release(const Driver& driver, CUgraph graph) { driver.cuGraphDestroy(graph); }
};
struct GraphExecTraits {
  using Value = CUgraphExec;
  static void release(const Driver& driver, CUgraphExec graph) { driver.cuGraphExecDestroy(graph); }
};
struct PinnedTraits {
  using Value = void*;
  static void release(const Driver& driver, void* memory) { driver.cuMemFreeHost(memory); }
};
using Event = Handle<EventTraits>;
using Stream = Handle<StreamTraits>;
using Module = Handle<ModuleTraits>;
using Memory = Handle<MemoryTraits>;
using Graph = Handle<GraphTraits>;
using GraphExec = Handle<GraphExecTraits>;
using Pinned = Handle<PinnedTraits>;

Event make_event(const Gpu& gpu, bool timed);
Stream make_stream(const Gpu& gpu);
Memory make_memory(const Gpu& gpu, std::int64_t bytes);
Module load_module(const Gpu& gpu, const void* image);

}  // namespace kf::cuda
