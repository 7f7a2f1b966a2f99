// SPDX-License-Identifier: Apache-2.0
#include <kfactory/spec.h>

#include <algorithm>

#include "case_builder.h"
#include "spec_reader.h"

namespace kf {
namespace {

// The values of all axes when `axis` is `extent`. An expr axis whose value is not what its expression gives was set
// by the case itself, and keeps that value.
OrError<Map<std::int64_t>> axes_of_slice(const Spec& spec, const Case& of, const std::string& axis,
                                         std::int64_t extent) {
  const Scope scope = scope_of(spec, of);
  Map<Expression> chosen;
  for (const auto& [name, declared] : spec.axes) {
    const std::int64_t value = of.axes.at(name);
    if (declared.kind == Axis::Kind::kVar) {
      chosen.emplace(name, Expression::constant(name == axis ? extent : value));
    } else if (declared.kind == Axis::Kind::kExpr) {
      const OrError<std::int64_t> usual = declared.expression.evaluate(scope);
      if (!usual || *usual != value) {
        chosen.emplace(name, Expression::constant(value));
      }
    }
  }
  return evaluate_axes(spec, chosen, scope);
}

Tensor float64_result(Tensor tensor, std::string name) {
  tensor.name = std::move(name);
  tensor.role = TensorRole::kOutput;
  tensor.dtype = Dtype::kFloat64;
  tensor.stride = dense_strides(tensor.extent);
  tensor.align = 256;
  tensor.values.clear();
  return tensor;
}

OrError<Tensor> resized(const TensorSpec& declared, const Tensor& whole, const Scope& scope) {
  OrError<Tensor> part = lay_out(declared, whole.dtype, scope);
  if (part) {
    part->stride = whole.stride;
    part->values = part->extent == whole.extent ? whole.values : std::vector<std::int64_t>{};
  }
  return part;
}

}  // namespace

OrError<Case> narrowed(const Spec& spec, const Case& of, const std::string& axis, std::int64_t extent) {
  Case part = of;
  if (!axis.empty()) {
    const Axis* declared = find_axis(spec, axis);
    const auto whole = of.axes.find(axis);
    if (declared == nullptr || whole == of.axes.end() || declared->kind != Axis::Kind::kVar) {
      return std::unexpected(Error{"$.reference.slice", "\"" + axis + "\" is no var axis of " + spec.name, ""});
    }
    if (extent < 0 || extent > whole->second) {
      return std::unexpected(Error{"$.reference.slice",
                                   "a slice of " + std::to_string(extent) + " of " + axis + " = " +
                                       std::to_string(whole->second) + " in " + of.id.value,
                                   ""});
    }
    OrError<Map<std::int64_t>> axes = axes_of_slice(spec, of, axis, extent);
    if (!axes) {
      return std::unexpected(std::move(axes.error()));
    }
    part.axes = std::move(*axes);
  }
  const Scope scope = scope_of(spec, part);
  for (Tensor& tensor : part.tensors) {
    const TensorSpec* declared = find_tensor(spec, tensor.name);
    if (declared == nullptr) {
      return std::unexpected(Error{"", "\"" + tensor.name + "\" is no tensor of " + spec.name, ""});
    }
    OrError<Tensor> smaller = resized(*declared, tensor, scope);
    if (!smaller) {
      return std::unexpected(std::move(smaller.error()));
    }
    tensor = std::move(*smaller);
  }
  return part;
}

OrError<Case> slice_of(const Spec& spec, const Case& of, const std::string& axis, std::int64_t extent) {
  OrError<Case> part = narrowed(spec, of, axis, extent);
  if (!part) {
    return part;
  }
  Case slice = *part;
  slice.tensors.clear();
  std::vector<Tensor> conditions;
  for (const Tensor& tensor : part->tensors) {
    if (tensor.role == TensorRole::kInput) {
      slice.tensors.push_back(tensor);
      continue;
    }
    if (tensor.role == TensorRole::kInout) {
      Tensor before = tensor;
      before.name = tensor.name + "__in";
      before.role = TensorRole::kInput;
      slice.tensors.push_back(std::move(before));
    }
    slice.tensors.push_back(float64_result(tensor, tensor.name));
    const auto bound = spec.tolerance.find(tensor.name);
    if (bound != spec.tolerance.end() && !bound->second.condition.empty()) {
      conditions.push_back(float64_result(tensor, bound->second.condition));
    }
  }
  std::ranges::move(conditions, std::back_inserter(slice.tensors));
  // A reference names these whether they are there or not: absent ones become null pointers.
  for (const std::string& name : of.absent) {
    const TensorSpec* declared = find_tensor(spec, name);
    const auto bound = spec.tolerance.find(name);
    if (bound != spec.tolerance.end() && !bound->second.condition.empty()) {
      slice.absent.push_back(bound->second.condition);
    }
    if (declared != nullptr && declared->role == TensorRole::kInout) {
      slice.absent.push_back(name + "__in");
    }
  }
  return slice;
}

}  // namespace kf
