// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <kfactory/device.h>
#include <kfactory/job.h>

namespace kf {

// Thrown inside gates/ and measure/ when a verb of ours failed; their entry points catch it and return the Fault.
struct RigFailure {
  Fault fault;
};

// splitmix64 of a seed and a purpose: independent streams from the few seeds that a job carries.
std::uint64_t derive_seed(std::uint64_t seed, std::uint64_t use);
// Of a check point, whether or not it lists so many.
std::uint64_t seed_at(const CheckPoint& point, std::size_t index);

// Poison holds NaN or large finite values by its seed's lowest bit (kernels/harness/poison.cuh).
constexpr std::uint64_t nan_poison(std::uint64_t seed) {
  return seed & ~std::uint64_t{1};
}
constexpr std::uint64_t alike_poison(std::uint64_t seed, std::uint64_t as) {
  return nan_poison(seed) | (as & 1);
}

// A device and whether it may still be used: after some faults only its destructor may be called, so nothing that is
// held on it may be released any more.
class Bench {
 public:
  explicit Bench(Device& device) : device_(device) {}
  Device& device() { return device_; }
  bool alive() const { return alive_; }

  // Of a verb of ours: a fault is the rig's.
  template <class T>
  T must(OrFault<T> result, std::string_view doing) {
    if (!result) {
      note(result.error());
      fail(result.error(), doing);
    }
    if constexpr (!std::is_void_v<T>) {
      return *std::move(result);
    }
  }
  // Of a candidate's launch: a fault is the caller's to judge, unless it is one of our own work around it.
  template <class T>
  OrFault<T> tried(OrFault<T> result) {
    if (!result) {
      note(result.error());
      if (result.error().ours) {
        fail(result.error(), "work of ours around a launch");
      }
    }
    return result;
  }

 private:
  void note(const DeviceFault& fault);
  [[noreturn]] static void fail(const DeviceFault& fault, std::string_view doing);

  Device& device_;
  bool alive_ = true;
};

// Loaded modules of an arm, by build; unloaded with it.
class Modules {
 public:
  Modules(Bench& bench, const std::vector<Build>& builds) : bench_(bench), builds_(builds) {}
  ~Modules() { unload(); }
  Modules(const Modules&) = delete;
  Modules& operator=(const Modules&) = delete;

  // The module of a plan's build. Loaded when first asked for.
  OrFault<ModuleHandle> of(const ResolvedPlan& plan);
  void unload();

 private:
  Bench& bench_;
  const std::vector<Build>& builds_;
  std::map<Digest, ModuleHandle> loaded_;
};

// What a launch's tensors hold.
struct Contents {
  std::string family;
  std::uint64_t seed = 0;
  const Map<std::vector<std::string>>* families = nullptr;  // Job::families
  // The tensor's own family: `family` where the spec lists it for this input, else its first one.
  TensorFill of(const Tensor& tensor, std::size_t index) const;
};

// One allocation for each tensor and workspace of a launch. Released with it unless the device is dead.
class CaseBuffers {
 public:
  // `placing` draws the order in which they are allocated and, unless `misalign` is 0, which tensors are moved by which
  // multiple of their own alignment, so that no launch can rely on which of its tensors lie before which others, or
  // learn their alignment from one; 0: as the spec lists them, each moved by its alignment.
  CaseBuffers(Bench& bench, const Case& of, const std::vector<Workspace>& workspaces, std::int64_t misalign,
              std::uint64_t placing = 0);
  ~CaseBuffers();
  CaseBuffers(CaseBuffers&& other) noexcept;
  CaseBuffers(const CaseBuffers&) = delete;

  // Fresh poison everywhere, then contents into inputs, then what each workspace promises.
  void renew(const Contents& contents, std::uint64_t poison_seed);
  // Nothing of an output, or of what was derived from it, is left.
  void scrub_outputs(std::uint64_t seed);

  const Case& of() const { return *of_; }
  const std::vector<BufferHandle>& tensors() const { return tensors_; }
  const std::vector<BufferHandle>& workspaces() const { return workspaces_; }
  std::uint64_t tensor_poison(std::size_t index) const { return derive_seed(poison_, index); }
  std::uint64_t workspace_poison(std::size_t index) const { return derive_seed(poison_, 1000 + index); }

 private:
  void release();

  Bench* bench_;
  const Case* of_;
  const std::vector<Workspace>* plan_workspaces_;
  std::vector<BufferHandle> tensors_, workspaces_;
  std::vector<BufferHandle> held_;  // all of them, as they were allocated
  std::uint64_t poison_ = 0;
};

}  // namespace kf
