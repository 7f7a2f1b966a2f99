// SPDX-License-Identifier: Apache-2.0
#include "gates/bench.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <kfactory/seed.h>

namespace kf {
namespace {

// 0 .. count - 1, shuffled by the seed; 0: as they are.
std::vector<std::size_t> order_of(std::size_t count, std::uint64_t seed) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t left = seed == 0 ? 0 : count; left > 1; --left) {
    std::swap(order[left - 1], order[derive_seed(seed, left) % left]);
  }
  return order;
}

// Where the base of a tensor lies, modulo an allocation's alignment: some tensors of a launch are shifted, some are
// not, so that a kernel that looks at one pointer's alignment learns nothing of the others'. A tensor moves by a
// multiple of its own alignment, half of the time an odd one: it is aligned to that and to nothing more. With seed 0
// each moves by its alignment.
std::int64_t shift_of(const Tensor& tensor, std::size_t index, std::size_t count, std::uint64_t seed) {
  const std::int64_t step = tensor.shift_step();
  if (step >= kAllocationAlign) {
    return 0;
  }
  if (seed == 0) {
    return step;
  }
  const std::uint64_t bits = derive_seed(seed, 1000);
  const std::uint64_t all = count < 64 ? (std::uint64_t{1} << count) - 1 : ~std::uint64_t{0};
  if ((bits & all) != 0 && (bits >> (index % 64) & 1) == 0) {
    return 0;
  }
  const auto places = static_cast<std::uint64_t>(kAllocationAlign / step);
  return step * static_cast<std::int64_t>(1 + derive_seed(seed, 1001 + index) % (places - 1));
}

}  // namespace

std::uint64_t derive_seed(std::uint64_t seed, std::uint64_t use) {
  std::uint64_t state = seed + use * 0x9e3779b97f4a7c15ULL;  // word number `use` of the seed's sequence
  return splitmix64(state);
}

std::uint64_t seed_at(const CheckPoint& point, std::size_t index) {
  return index < point.seeds.size() ? point.seeds[index]
                                    : derive_seed(point.seeds.empty() ? 0 : point.seeds[0], 900 + index);
}

void Bench::note(const DeviceFault& fault) {
  using Kind = DeviceFault::Kind;
  alive_ = alive_ && fault.kind != Kind::kIllegalAccess && fault.kind != Kind::kTimeout && fault.kind != Kind::kLost;
}

void Bench::fail(const DeviceFault& fault, std::string_view doing) {
  throw RigFailure{{Fault::Kind::kRig, std::string(to_string(fault.kind)), std::string(doing) + ": " + fault.detail}};
}

OrFault<ModuleHandle> Modules::of(const ResolvedPlan& plan) {
  if (const auto found = loaded_.find(plan.build); found != loaded_.end()) {
    return found->second;
  }
  const auto build = std::ranges::find(builds_, plan.build, &Build::id);
  if (build == builds_.end()) {
    throw RigFailure{{Fault::Kind::kRig, "garbage", "the job lacks the build of case " + plan.of.value}};
  }
  OrFault<ModuleHandle> module = bench_.tried(bench_.device().load(*build));
  if (module) {
    loaded_.emplace(plan.build, *module);
  }
  return module;
}

void Modules::unload() {
  for (const auto& [build, module] : std::exchange(loaded_, {})) {
    if (bench_.alive()) {
      bench_.device().unload(module);
    }
  }
}

TensorFill Contents::of(const Tensor& tensor, std::size_t index) const {
  const std::uint64_t own_seed = derive_seed(seed, index);
  if (families == nullptr || families->empty()) {
    return {family, own_seed};
  }
  const auto listed = families->find(tensor.name);
  if (listed == families->end() || listed->second.empty()) {
    return {"normal", own_seed};
  }
  const bool holds = std::ranges::find(listed->second, family) != listed->second.end();
  return {holds ? family : listed->second.front(), own_seed};
}

CaseBuffers::CaseBuffers(Bench& bench, const Case& of, const std::vector<Workspace>& workspaces, std::int64_t misalign,
                         std::uint64_t placing)
    : bench_(&bench),
      of_(&of),
      plan_workspaces_(&workspaces),
      tensors_(of.tensors.size()),
      workspaces_(workspaces.size()) {
  const auto allocate = [&](BufferHandle& into, const BufferRequest& request, const std::string& name) {
    const std::string doing =
        "allocating " + std::to_string(request.bytes) + " bytes for " + name + " of case " + of.id.value;
    into = bench.must(bench.device().allocate(request), doing);
    held_.push_back(into);
  };
  try {
    for (const std::size_t i : order_of(tensors_.size() + workspaces_.size(), placing)) {
      if (i < tensors_.size()) {
        const Tensor& tensor = of.tensors[i];
        const std::int64_t shift = misalign == 0 ? 0 : shift_of(tensor, i, tensors_.size(), placing);
        allocate(tensors_[i], {tensor.span_bytes(), shift, tensor.role == TensorRole::kInput}, tensor.name);
      } else {
        const Workspace& workspace = workspaces[i - tensors_.size()];
        allocate(workspaces_[i - tensors_.size()], {workspace.bytes}, "workspace " + workspace.name);
      }
    }
  } catch (...) {
    release();
    throw;
  }
}

CaseBuffers::CaseBuffers(CaseBuffers&& other) noexcept
    : bench_(other.bench_),
      of_(other.of_),
      plan_workspaces_(other.plan_workspaces_),
      tensors_(std::exchange(other.tensors_, {})),
      workspaces_(std::exchange(other.workspaces_, {})),
      held_(std::exchange(other.held_, {})),
      poison_(other.poison_) {}

CaseBuffers::~CaseBuffers() {
  release();
}

void CaseBuffers::release() {
  for (const BufferHandle handle : held_) {
    if (bench_->alive()) {
      bench_->device().release(handle);
    }
  }
}

void CaseBuffers::renew(const Contents& contents, std::uint64_t poison_seed) {
  poison_ = poison_seed;
  Device& device = bench_->device();
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const Tensor& tensor = of_->tensors[i];
    const bool filled = tensor.role != TensorRole::kOutput && tensor.elements() > 0;
    const bool gaps = tensor.elements() * size_in_bytes(tensor.dtype) != tensor.span_bytes();
    bench_->must(filled && !gaps ? device.poison_red_zones(tensors_[i], tensor_poison(i))
                                 : device.poison(tensors_[i], tensor_poison(i)),
                 "poisoning " + tensor.name);
    if (filled) {
      bench_->must(device.fill(tensors_[i], tensor, contents.of(tensor, i)), "filling " + tensor.name);
    }
  }
  for (std::size_t i = 0; i < workspaces_.size(); ++i) {
    const Workspace& workspace = (*plan_workspaces_)[i];
    bench_->must(device.poison(workspaces_[i], workspace_poison(i)), "poisoning workspace " + workspace.name);
    if (workspace.init != WorkspaceInit::kPoison) {
      bench_->must(device.zero(workspaces_[i]), "zeroing workspace " + workspace.name);
    }
  }
}

void CaseBuffers::scrub_outputs(std::uint64_t seed) {
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    if (of_->tensors[i].role != TensorRole::kInput) {
      bench_->must(bench_->device().poison(tensors_[i], derive_seed(seed, i)), "scrubbing " + of_->tensors[i].name);
    }
  }
  for (std::size_t i = 0; i < workspaces_.size(); ++i) {  // partial results may hold the answer too
    bench_->must(bench_->device().poison(workspaces_[i], derive_seed(seed, 1000 + i)), "scrubbing a workspace");
  }
}

}  // namespace kf
