// SPDX-License-Identifier: Apache-2.0
#include "gates/launch_check.h"

#include "gates/elements.h"
#include "gates/verdicts.h"

namespace kf {
namespace {

std::string bytes_text(std::int64_t bytes) {
  return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes");
}

// Bytes before a buffer's first or after its last element that were overwritten.
std::optional<Verdict> outside(Bench& bench, Gate gate, BufferHandle buffer, std::uint64_t poison,
                               const std::string& name) {
  const std::int64_t bytes = bench.must(bench.device().red_zone_damage(buffer, poison), "looking at red zones");
  if (bytes == 0) {
    return std::nullopt;
  }
  return refuse(gate, "red_zone",
                bytes_text(bytes) + " outside " + name +
                    " (before its first or after its last "
                    "element) were overwritten: an index runs over the end; check bounds at the tails");
}

}  // namespace

std::optional<Verdict> strayed(Bench& bench, Gate gate, const CaseBuffers& buffers,
                               const std::vector<Workspace>& workspaces) {
  Device& device = bench.device();
  for (std::size_t i = 0; i < buffers.of().tensors.size(); ++i) {
    const Tensor& tensor = buffers.of().tensors[i];
    if (auto damage = outside(bench, gate, buffers.tensors()[i], buffers.tensor_poison(i), tensor.name)) {
      return damage;
    }
    const std::int64_t padding =
        bench.must(device.padding_damage(buffers.tensors()[i], tensor, buffers.tensor_poison(i)), "looking at padding");
    if (padding > 0) {
      return refuse(gate, "padding_changed",
                    bytes_text(padding) + " between the rows of " + tensor.name +
                        " were overwritten: its strides leave gaps that belong to somebody else; write elements only");
    }
  }
  for (std::size_t i = 0; i < workspaces.size(); ++i) {
    const std::string name = "workspace " + workspaces[i].name;
    if (auto damage = outside(bench, gate, buffers.workspaces()[i], buffers.workspace_poison(i), name)) {
      return damage;
    }
    if (workspaces[i].init != WorkspaceInit::kZeroRestored) {
      continue;
    }
    const std::int64_t left = bench.must(device.nonzero_bytes(buffers.workspaces()[i]), "looking at a workspace");
    if (left > 0) {
      return refuse(gate, "workspace_not_restored",
                    bytes_text(left) + " of " + name +
                        " are not zero after the launch: "
                        "\"zero_restored\" promises that they are; reset them at the end, or declare \"zero\"");
    }
  }
  return std::nullopt;
}

LaunchResult LaunchChecker::check(const LaunchCheck& launch) {
  const auto index = static_cast<std::size_t>(launch.case_index);
  const Case& of = job_.cases.at(index);
  CaseBuffers buffers(bench_, of, arm_.plans.at(index).workspaces, launch.misalign,
                      derive_seed(launch.poison_seed, 5003));
  buffers.renew(launch.contents, launch.poison_seed);
  if (launch.before_launch) {
    launch.before_launch(buffers);
  }
  const std::vector<ContentDigest> inputs = input_digests(buffers);
  bench_.must(bench_.device().scrub_shared(derive_seed(launch.poison_seed, 5000)), "scrubbing shared memory");
  bench_.must(bench_.device().settle(), "preparing a launch");  // from here on a fault is the candidate's

  LaunchResult result;
  result.refusal = run(launch, buffers);
  if (!result.refusal) {
    result.refusal = untouched(launch, buffers, inputs);
  }
  if (!result.refusal) {
    if (launch.before_comparison) {
      launch.before_comparison(buffers);
    }
    const std::vector<Mismatch> outputs =
        reference_.compare(launch.case_index, buffers, launch.contents, derive_seed(launch.poison_seed, 5001));
    result.refusal = verdict_of(launch.gate, outputs);
    ++launches_;
  }
  if (!result.refusal && launch.want_outputs) {
    for (std::size_t i = 0; i < of.tensors.size(); ++i) {
      if (of.tensors[i].role != TensorRole::kInput) {
        result.outputs.push_back(elements_digest(buffers, i));
      }
    }
  }
  if (bench_.alive()) {
    buffers.scrub_outputs(derive_seed(launch.poison_seed, 5002));
  }
  if (result.refusal) {
    result.refusal->case_id = of.id.value;
    result.refusal->family = launch.contents.family;
    result.refusal->checks = launches_;
  }
  return result;
}

std::optional<Verdict> LaunchChecker::run(const LaunchCheck& launch, const CaseBuffers& buffers) {
  const ResolvedPlan& plan = arm_.plans.at(static_cast<std::size_t>(launch.case_index));
  if (plan.launches.empty()) {
    return std::nullopt;  // empty outputs may have no kernel
  }
  phase_(Phase::kCandidate);
  OrFault<void> done;
  if (const OrFault<ModuleHandle> module = modules_.of(plan)) {
    Device& device = bench_.device();
    done = launch.disturbance
               ? device.run_disturbed(*module, plan, buffers.tensors(), buffers.workspaces(), *launch.disturbance)
               : device.run(*module, plan, buffers.tensors(), buffers.workspaces(), {});
  } else {
    done = std::unexpected(module.error());
  }
  phase_(Phase::kRig);
  done = bench_.tried(std::move(done));
  return done ? std::nullopt : std::optional(verdict_of(launch.gate, done.error()));
}

std::optional<Verdict> LaunchChecker::untouched(const LaunchCheck& launch, const CaseBuffers& buffers,
                                                const std::vector<ContentDigest>& inputs) {
  const Case& of = buffers.of();
  const std::vector<Workspace>& workspaces = arm_.plans.at(static_cast<std::size_t>(launch.case_index)).workspaces;
  if (auto stray = strayed(bench_, launch.gate, buffers, workspaces)) {
    return stray;
  }
  const std::vector<ContentDigest> after = input_digests(buffers);
  for (std::size_t i = 0, n = 0; i < of.tensors.size(); ++i) {
    if (of.tensors[i].role == TensorRole::kInput && after[n] != inputs[n]) {
      return refuse(launch.gate, "input_changed",
                    "the launch changed input " + of.tensors[i].name + ": inputs are read-only");
    }
    n += of.tensors[i].role == TensorRole::kInput ? 1 : 0;
  }
  return std::nullopt;
}

std::vector<ContentDigest> LaunchChecker::input_digests(const CaseBuffers& buffers) {
  std::vector<ContentDigest> digests;
  for (std::size_t i = 0; i < buffers.of().tensors.size(); ++i) {
    if (buffers.of().tensors[i].role == TensorRole::kInput) {
      digests.push_back(bench_.must(bench_.device().digest(buffers.tensors()[i]), "digesting inputs"));
    }
  }
  return digests;
}

Digest LaunchChecker::elements_digest(const CaseBuffers& buffers, std::size_t index) {
  const Tensor& tensor = buffers.of().tensors[index];
  if (tensor.elements() == 0) {
    return {};
  }
  return sha256(read_elements(bench_, buffers, index));
}

}  // namespace kf
