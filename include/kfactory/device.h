// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <kfactory/build.h>
#include <kfactory/case.h>
#include <kfactory/device_facts.h>
#include <kfactory/measurement.h>
#include <kfactory/plan.h>
#include <kfactory/values.h>
#include <kfactory/verdict.h>

namespace kf {

// What a launch, or the device, did. The caller decides whether the candidate or the rig is to blame:
// any fault between a candidate's launch and the next successful synchronisation is the candidate's.
struct DeviceFault {
  enum class Kind : std::uint8_t {
    kIllegalAccess,
    kTimeout,
    kOutOfMemory,
    kLaunchRefused,
    kUnsupported,
    kChecker,
    kLost,
    kLaunchTruth,  // other operations ran than a timed batch queued (ClockMethod::kCupti)
  } kind = Kind::kLost;
  std::string detail;                // for kChecker and kUnsupported: kernel, source line, block, thread, address
  std::int32_t slot = -1;            // of a timed batch: the slot that it is about; -1: not known
  std::optional<Finding> finding{};  // of the emulator
  bool ours = false;                 // of work of ours around a plan that a verb ran: never the candidate's
};
std::string_view to_string(DeviceFault::Kind kind);
template <class T>
using OrFault = std::expected<T, DeviceFault>;

enum class ModuleHandle : std::int64_t {};
enum class BufferHandle : std::int64_t {};

// An allocation: `bytes` usable bytes at an address congruent to `misalign` modulo 256, with a red zone
// of at least 256 bytes on both sides.
struct BufferRequest {
  std::int64_t bytes = 0;
  std::int64_t misalign = 0;  // 0..255, a multiple of the element size
  bool input = false;         // kernels may only read it; an emulator stops one that writes there
};

// Contents of a tensor are a function of (family, seed, logical index, dtype); kernels/harness/fill.cuh is
// the definition for host and device both. A family is "normal", "large", "tiny", "offset", "spikes",
// "constant", "integers", "mixed", "nonfinite", ... (docs/formats/spec.md lists them).
struct TensorFill {
  std::string family;
  std::uint64_t seed = 0;
};

// Order-independent 256-bit digest of all bytes of an allocation, red zones included.
struct ContentDigest {
  std::uint64_t words[4]{};
  bool operator==(const ContentDigest&) const = default;
};

// An output tensor against a part of the float64 reference. ref and condition are dense float64 buffers of
// `ref_case_tensor`'s extents; they cover the elements whose index in dim `slice_dim` starts at `slice_first`.
struct CompareRequest {
  BufferHandle out{};
  const Tensor* tensor = nullptr;
  BufferHandle ref{};
  BufferHandle condition{};  // == ref when the bound has no condition
  bool has_condition = false;
  Bound bound;
  int slice_dim = -1;  // -1: the whole tensor
  std::int64_t slice_first = 0, slice_extent = 0;
  std::uint64_t poison_seed = 0;       // to recognise elements that were never written
  bool nonfinite_unspecified = false;  // elements whose reference is NaN or Inf are not judged
  bool only_unwritten = false;         // what holds the poison is wrong, and nothing else; no bound, no reference
};

// One arm's place in a timed batch.
struct Slot {
  std::int32_t arm = 0;
  ModuleHandle module{};
  const ResolvedPlan* plan = nullptr;
  std::vector<BufferHandle> tensors;     // one for each Case::tensors
  std::vector<BufferHandle> workspaces;  // one for each plan->workspaces
};

struct TimedBatch {
  std::vector<Slot> slots;  // run in this order behind one gate
  CacheState state = CacheState::kCold;
  ClockMethod method = ClockMethod::kEvents;
};

// What else happens on the device while a plan runs; everything is drawn from `seed`.
struct Disturbance {
  std::uint64_t seed = 0;
  // Of the multiprocessors: work of ours keeps every other block off them; half of it moves memory meanwhile.
  double held_share = 0;
  // Random waits between the plan's launches, or all of them queued before the first may start.
  bool pauses = false;
};

// Counters of a plan's launch, by the field's metric names. They take several launches.
struct CountRequest {
  Slot slot;
  CacheState state = CacheState::kCold;
  std::vector<std::string> metrics;            // those that the device does not have are left out of the answer
  std::function<OrFault<void>()> before_pass;  // contents anew; may call verbs
};

// Worker side only: cuda, emulator, or registered C++ functions (tests/fakes/host_device.h). Verbs: no
// caller sees a stream or a pointer. Not thread-safe. After kIllegalAccess, kTimeout or kLost only the
// destructor may be called.
struct Device {
  virtual ~Device() = default;
  virtual const DeviceFacts& facts() const = 0;
  // facts() with its rates measured, where the device can; takes a moment. For the jobs that describe a device.
  virtual const DeviceFacts& calibrate() { return facts(); }

  // The harness kernels (kernels/harness/harness.cu), compiled by the factory. Called once, first.
  virtual OrFault<void> use_harness(const Build& harness) = 0;

  // How long one run() or one timed batch's launch may take before kTimeout. Set before the first launch of a job.
  virtual void set_launch_deadline(std::chrono::milliseconds deadline) { static_cast<void>(deadline); }

  virtual OrFault<ModuleHandle> load(const Build& build) = 0;  // cuda takes the cubin, the emulator the PTX
  virtual void unload(ModuleHandle module) = 0;

  virtual OrFault<BufferHandle> allocate(const BufferRequest& request) = 0;
  virtual void release(BufferHandle buffer) = 0;
  virtual std::int64_t free_bytes() const = 0;

  // poison, zero, fill and scrub_shared may only be queued, in order, before everything that is asked for later. After
  // settle() they are done, or their fault is known: a caller that must know whom to blame for the next one settles
  // first.
  virtual OrFault<void> settle() { return {}; }
  // Every byte of the allocation, red zones included, from philox(seed, word).
  virtual OrFault<void> poison(BufferHandle buffer, std::uint64_t seed) = 0;
  // At least the red zones, with the bytes that poison() gives them: for a buffer of which every usable byte is
  // written next.
  virtual OrFault<void> poison_red_zones(BufferHandle buffer, std::uint64_t seed) { return poison(buffer, seed); }
  virtual OrFault<void> zero(BufferHandle buffer) = 0;
  // Elements of `tensor` only (padding between them keeps its bytes). Tensor::values win over the family.
  virtual OrFault<void> fill(BufferHandle buffer, const Tensor& tensor, const TensorFill& fill) = 0;
  virtual OrFault<void> write(BufferHandle buffer, std::int64_t offset, std::span<const std::byte> bytes) = 0;
  virtual OrFault<Bytes> read(BufferHandle buffer, std::int64_t offset, std::int64_t bytes) = 0;

  virtual OrFault<ContentDigest> digest(BufferHandle buffer) = 0;
  // Bytes outside [0, bytes) that no longer hold poison(seed); 0 = untouched.
  virtual OrFault<std::int64_t> red_zone_damage(BufferHandle buffer, std::uint64_t seed) = 0;
  // Bytes of the usable range that belong to no element of `tensor` and no longer hold poison(seed).
  virtual OrFault<std::int64_t> padding_damage(BufferHandle buffer, const Tensor& tensor, std::uint64_t seed) = 0;
  // Bytes of the usable range that are not zero.
  virtual OrFault<std::int64_t> nonzero_bytes(BufferHandle buffer) = 0;
  // Mismatch::wrong == 0: within the bound everywhere. Mismatch::shape is left to gates/.
  virtual OrFault<Mismatch> compare(const CompareRequest& request) = 0;
  // Elements of two equal tensors that differ in any bit.
  virtual OrFault<std::int64_t> differing_elements(BufferHandle a, BufferHandle b, const Tensor& tensor) = 0;

  // Launches the plan once and waits. `slice_offsets_bytes` (empty, or one for each tensor) moves base addresses.
  virtual OrFault<void> run(ModuleHandle module, const ResolvedPlan& plan, std::span<const BufferHandle> tensors,
                            std::span<const BufferHandle> workspaces,
                            std::span<const std::int64_t> slice_offsets_bytes) = 0;
  // run() on a disturbed device. Multiprocessors stay held until the plan has ended, so a plan whose blocks wait for
  // blocks that need not run at the same time never ends (kTimeout, after several launch deadlines). A plan with a
  // cooperative launch or clusters may need all of them at once: there they are held for the first moments only.
  virtual OrFault<void> run_disturbed(ModuleHandle module, const ResolvedPlan& plan,
                                      std::span<const BufferHandle> tensors, std::span<const BufferHandle> workspaces,
                                      const Disturbance& disturbance) = 0;
  // Samples in slot order (arm and slot filled in). One gated batch: flush, event, op, event for each slot.
  virtual OrFault<std::vector<Sample>> time(const TimedBatch& batch) = 0;
  // What the last batch did, by slot and launch; empty where the device does not count.
  virtual std::vector<std::vector<LaunchCounts>> launch_counts() const { return {}; }
  // kUnsupported: this device has no counters, or does not let this process read them; the detail says which.
  virtual OrFault<Map<double>> count(const CountRequest& request) {
    static_cast<void>(request);
    return std::unexpected(DeviceFault{DeviceFault::Kind::kUnsupported, "this device has no counters"});
  }
  // Between launches of different arms: shared memory of every SM and a large local frame get random bytes.
  virtual OrFault<void> scrub_shared(std::uint64_t seed) = 0;
};

}  // namespace kf
