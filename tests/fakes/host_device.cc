// SPDX-License-Identifier: Apache-2.0
#include "tests/fakes/host_device.h"

#include <algorithm>
#include <set>

#include "kernels/harness/host.h"

namespace kf::fakes {
namespace {

using harness::Placement;

struct Free {
  void operator()(std::byte* bytes) const { ::operator delete[](bytes, std::align_val_t(256)); }
};
struct Buffer {
  Placement at;
  std::unique_ptr<std::byte[], Free> bytes;
  std::span<std::byte> all() const { return {bytes.get(), static_cast<std::size_t>(at.total)}; }
  std::span<std::byte> usable() const { return all().subspan(at.front, at.bytes); }
};

DeviceFault fault(DeviceFault::Kind kind, std::string detail) {
  return {kind, std::move(detail)};
}

class HostDevice final : public Device {
 public:
  explicit HostDevice(HostDeviceOptions options) : options_(std::move(options)) {}

  const DeviceFacts& facts() const override { return options_.facts; }
  const DeviceFacts& calibrate() override {
    (void)check("calibrate");
    return facts();
  }
  OrFault<void> use_harness(const Build&) override { return check("use_harness"); }

  OrFault<ModuleHandle> load(const Build& build) override {
    if (auto ready = check("load"); !ready) {
      return std::unexpected(ready.error());
    }
    if (options_.on_load) {
      options_.on_load();
    }
    modules_.emplace(next_, build.id);
    return ModuleHandle{next_++};
  }
  void unload(ModuleHandle module) override { modules_.erase(static_cast<std::int64_t>(module)); }

  OrFault<BufferHandle> allocate(const BufferRequest& request) override {
    if (auto ready = check("allocate"); !ready) {
      return std::unexpected(ready.error());
    }
    Buffer buffer{harness::place(request), nullptr};
    if (buffer.at.total > free_bytes()) {
      return std::unexpected(fault(DeviceFault::Kind::kOutOfMemory, std::to_string(buffer.at.total) + " bytes"));
    }
    const auto total = static_cast<std::size_t>(buffer.at.total);
    buffer.bytes.reset(static_cast<std::byte*>(::operator new[](total, std::align_val_t(256))));
    used_ += buffer.at.total;
    buffers_.emplace(next_, std::move(buffer));
    return BufferHandle{next_++};
  }
  void release(BufferHandle handle) override {
    used_ -= at(handle).at.total;
    buffers_.erase(static_cast<std::int64_t>(handle));
  }
  std::int64_t free_bytes() const override { return options_.memory_bytes - used_; }

  OrFault<void> poison(BufferHandle handle, std::uint64_t seed) override {
    return verb("poison", [&] { harness::poison(at(handle).all(), seed); });
  }
  OrFault<void> zero(BufferHandle handle) override {
    return verb("zero", [&] { std::ranges::fill(at(handle).usable(), std::byte{0}); });
  }
  OrFault<void> fill(BufferHandle handle, const Tensor& tensor, const TensorFill& contents) override {
    if (auto ready = check("fill"); !ready) {
      return ready;
    }
    return kept(harness::fill(at(handle).usable(), tensor, contents));
  }
  OrFault<void> write(BufferHandle handle, std::int64_t offset, std::span<const std::byte> bytes) override {
    return verb("write", [&] { std::ranges::copy(bytes, at(handle).usable().subspan(offset).begin()); });
  }
  OrFault<Bytes> read(BufferHandle handle, std::int64_t offset, std::int64_t bytes) override {
    if (auto ready = check("read"); !ready) {
      return std::unexpected(ready.error());
    }
    const auto part = at(handle).usable().subspan(offset, bytes);
    return Bytes(part.begin(), part.end());
  }

  OrFault<ContentDigest> digest(BufferHandle handle) override {
    if (auto ready = check("digest"); !ready) {
      return std::unexpected(ready.error());
    }
    return harness::digest(at(handle).all());
  }
  OrFault<std::int64_t> red_zone_damage(BufferHandle handle, std::uint64_t seed) override {
    if (auto ready = check("red_zone_damage"); !ready) {
      return std::unexpected(ready.error());
    }
    return harness::red_zone_damage(at(handle).all(), at(handle).at, seed);
  }
  OrFault<std::int64_t> padding_damage(BufferHandle handle, const Tensor& tensor, std::uint64_t seed) override {
    if (auto ready = check("padding_damage"); !ready) {
      return std::unexpected(ready.error());
    }
    return kept(harness::padding_damage(at(handle).all(), at(handle).at, tensor, seed));
  }
  OrFault<std::int64_t> nonzero_bytes(BufferHandle handle) override {
    if (auto ready = check("nonzero_bytes"); !ready) {
      return std::unexpected(ready.error());
    }
    return harness::nonzero_bytes(at(handle).usable());
  }
  OrFault<Mismatch> compare(const CompareRequest& request) override {
    if (auto ready = check("compare"); !ready) {
      return std::unexpected(ready.error());
    }
    const Buffer& out = at(request.out);
    auto plan = harness::plan_comparison(request, out.at);
    if (!plan) {
      return std::unexpected(fault(DeviceFault::Kind::kUnsupported, to_string(plan.error())));
    }
    const auto numbers = [](const Buffer& buffer) {
      const auto bytes = buffer.usable();
      return std::span(reinterpret_cast<const double*>(bytes.data()), bytes.size() / sizeof(double));
    };
    return harness::compare(*plan, out.all(), numbers(at(request.ref)),
                            request.has_condition ? numbers(at(request.condition)) : std::span<const double>());
  }
  OrFault<std::int64_t> differing_elements(BufferHandle a, BufferHandle b, const Tensor& tensor) override {
    return kept(harness::differing_elements(at(a).usable(), at(b).usable(), tensor));
  }

  OrFault<void> run(ModuleHandle module, const ResolvedPlan& plan, std::span<const BufferHandle> tensors,
                    std::span<const BufferHandle> workspaces, std::span<const std::int64_t> offsets) override {
    if (auto ready = check("run"); !ready) {
      return ready;
    }
    return launch(module, plan, tensors, workspaces, offsets);
  }
  OrFault<void> run_disturbed(ModuleHandle module, const ResolvedPlan& plan, std::span<const BufferHandle> tensors,
                              std::span<const BufferHandle> workspaces, const Disturbance& disturbance) override {
    if (auto ready = check("run_disturbed"); !ready) {
      return ready;
    }
    return launch(module, plan, tensors, workspaces, {}, &disturbance);
  }
  OrFault<Map<double>> count(const CountRequest& request) override {
    if (auto ready = check("count"); !ready) {
      return std::unexpected(ready.error());
    }
    if (!options_.count) {
      return Device::count(request);
    }
    if (auto renewed = request.before_pass(); !renewed) {
      return std::unexpected(renewed.error());
    }
    if (auto done = launch(request.slot.module, *request.slot.plan, request.slot.tensors, request.slot.workspaces, {});
        !done) {
      return std::unexpected(done.error());
    }
    return options_.count(request);
  }
  OrFault<std::vector<Sample>> time(const TimedBatch& batch) override {
    std::vector<Sample> samples;
    for (std::size_t i = 0; i < batch.slots.size(); ++i) {
      const Slot& slot = batch.slots[i];
      if (auto ready = check("time"); !ready) {
        return std::unexpected(ready.error());
      }
      for (std::size_t w = 0; w < slot.workspaces.size(); ++w) {
        if (slot.plan->workspaces[w].init == WorkspaceInit::kZero) {
          std::ranges::fill(at(slot.workspaces[w]).usable(), std::byte{0});
        }
      }
      if (auto done = launch(slot.module, *slot.plan, slot.tensors, slot.workspaces, {}); !done) {
        return std::unexpected(done.error());
      }
      const double nanoseconds = options_.nanoseconds ? options_.nanoseconds(slot, timed_) : 10'000.0;
      samples.push_back({slot.arm, 0, static_cast<std::int32_t>(i), nanoseconds, 0});
      ++timed_;
    }
    return samples;
  }
  OrFault<void> scrub_shared(std::uint64_t) override { return check("scrub_shared"); }

 private:
  OrFault<void> check(std::string_view verb) {
    if (options_.inject) {
      if (auto injected = options_.inject(verb)) {
        return std::unexpected(*std::move(injected));
      }
    }
    return {};
  }
  template <class F>
  OrFault<void> verb(std::string_view name, F&& action) {
    if (auto ready = check(name); !ready) {
      return ready;
    }
    action();
    return {};
  }
  template <class T>
  OrFault<T> kept(OrError<T> result) {
    if (!result) {
      return std::unexpected(fault(DeviceFault::Kind::kUnsupported, to_string(result.error())));
    }
    if constexpr (std::is_void_v<T>) {
      return {};
    } else {
      return *std::move(result);
    }
  }
  const Buffer& at(BufferHandle handle) const { return buffers_.at(static_cast<std::int64_t>(handle)); }

  OrFault<void> launch(ModuleHandle module, const ResolvedPlan& plan, std::span<const BufferHandle> tensors,
                       std::span<const BufferHandle> workspaces, std::span<const std::int64_t> offsets,
                       const Disturbance* disturbance = nullptr) {
    if (!modules_.contains(static_cast<std::int64_t>(module))) {
      return std::unexpected(fault(DeviceFault::Kind::kLaunchRefused, "the module is not loaded"));
    }
    for (const Launch& one : plan.launches) {
      HostLaunch call{&one, disturbance, {}};
      for (const Arg& arg : one.args) {
        call.pointers.push_back(address(arg, tensors, workspaces, offsets));
      }
      if (one.kind == Launch::Kind::kMemcpy) {
        std::memcpy(call.pointers.at(0), call.pointers.at(1), one.args.at(2).bits);
        continue;
      }
      const auto kernel = options_.kernels.find(one.entry);
      if (kernel == options_.kernels.end()) {
        return std::unexpected(fault(DeviceFault::Kind::kLaunchRefused, "no kernel named " + one.entry));
      }
      if (auto done = kernel->second(call); !done) {
        return done;
      }
    }
    return {};
  }
  void* address(const Arg& arg, std::span<const BufferHandle> tensors, std::span<const BufferHandle> workspaces,
                std::span<const std::int64_t> offsets) const {
    const auto index = static_cast<std::size_t>(arg.index);
    if (arg.kind == Arg::Kind::kTensor) {
      return at(tensors[index]).usable().data() + (offsets.empty() ? 0 : offsets[index]);
    }
    return arg.kind == Arg::Kind::kWorkspace ? at(workspaces[index]).usable().data() : nullptr;
  }

  HostDeviceOptions options_;
  std::map<std::int64_t, Digest> modules_;
  std::map<std::int64_t, Buffer> buffers_;
  std::int64_t next_ = 1, used_ = 0, timed_ = 0;
};

}  // namespace

HostDeviceOptions::HostDeviceOptions() {
  facts.kind = "host";
  facts.uuid = "host-0";
  facts.name = "host device of the tests";
  facts.arch = "sm_90a";
  facts.sm_count = 4;
  facts.shared_per_block = 227 << 10;
  facts.shared_per_sm = 228 << 10;
  facts.l2_bytes = 1 << 20;
  facts.memory_bytes = memory_bytes;
  facts.dram_bytes_per_second = 1e12;
  facts.source = "device";
}

std::unique_ptr<Device> make_host_device(HostDeviceOptions options) {
  return std::make_unique<HostDevice>(std::move(options));
}

}  // namespace kf::fakes
