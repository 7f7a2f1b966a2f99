// SPDX-License-Identifier: Apache-2.0
#include "copy_arms.h"

#include <algorithm>

#include <kfactory/harness.h>

namespace kf {
namespace {

// Of float32: data of full entropy, as tensors hold it, at a quarter of what bytes would cost to make.
Tensor copied_tensor(std::string name, TensorRole role, std::int64_t bytes) {
  Tensor tensor;
  tensor.name = std::move(name);
  tensor.role = role;
  tensor.dtype = Dtype::kFloat32;
  tensor.extent = {bytes / 4};
  tensor.stride = {1};
  tensor.dims = {"elements"};
  return tensor;
}

}  // namespace

std::int64_t copied_bytes(const Spec& spec, const Case& of) {
  const OrError<Work> work = work_of(spec, of);
  if (!work) {
    throw Fatal("the work of case " + of.id.value + " cannot be told: " + to_string(work.error()));
  }
  const std::int64_t half = (work->read_bytes + work->write_bytes) / 2;
  return std::max<std::int64_t>(16, half / 16 * 16);
}

std::vector<Launch> ways_to_copy(const Spec& spec, const Case& of, const DeviceFacts& facts) {
  return harness::copy_launches(copied_bytes(spec, of), facts);
}

Arm copy_arm(std::string name, const Spec& spec, const std::vector<Case>& cases, const std::vector<Launch>& ways,
             const Build& harness) {
  std::vector<std::int64_t> bytes;
  for (const Case& of : cases) {
    bytes.push_back(copied_bytes(spec, of));
  }
  return copy_arm(std::move(name), bytes, cases, ways, harness);
}

Arm copy_arm(std::string name, const std::vector<std::int64_t>& sizes, const std::vector<Case>& cases,
             const std::vector<Launch>& ways, const Build& harness) {
  Arm arm;
  arm.name = std::move(name);
  arm.builds = {harness};
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const std::int64_t bytes = sizes[i];
    Case own = cases[i];
    own.tensors = {copied_tensor("from", TensorRole::kInput, bytes), copied_tensor("to", TensorRole::kOutput, bytes)};
    own.scalars.clear();
    own.family = "normal";
    arm.own_cases.push_back(std::move(own));
    ResolvedPlan plan;
    plan.of = cases[i].id;
    plan.build = harness.id;
    plan.launches = {ways[i]};
    arm.plans.push_back(std::move(plan));
  }
  return arm;
}

}  // namespace kf
