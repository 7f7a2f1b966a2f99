// SPDX-License-Identifier: Apache-2.0
#include <kfactory/varied_case.h>

#include <algorithm>

#include "case_builder.h"
#include "spec_reader.h"

namespace kf {
namespace {

// What the case chose, but for its axes. A scalar at its default is none of its choices.
CaseChoice choices_of(const Spec& spec, const Case& of, std::string set) {
  CaseChoice choice;
  choice.set = std::move(set);
  choice.types = of.types;
  for (const TensorSpec& declared : spec.tensors) {
    const auto scalar = of.scalars.find(declared.name);
    if (declared.scalar && scalar != of.scalars.end() && scalar->second != declared.default_value) {
      choice.scalars.insert(*scalar);
    }
    const auto there = std::ranges::find(of.tensors, declared.name, &Tensor::name);
    if (declared.optional && there != of.tensors.end()) {
      choice.with.push_back(declared.name);
    }
  }
  return choice;
}

// An expr axis that the case set itself stays as far from its expression's value as it was: LDX = N + 1 of another N.
OrError<Map<Expression>> axes_of(const Spec& spec, const Case& of, const Map<std::int64_t>& axes) {
  Map<Expression> chosen, usual;
  for (const auto& [name, axis] : spec.axes) {
    if (axis.kind == Axis::Kind::kVar) {
      const auto other = axes.find(name);
      const std::int64_t value = other != axes.end() ? other->second : of.axes.at(name);
      chosen.emplace(name, Expression::constant(value));
      usual.emplace(name, Expression::constant(of.axes.at(name)));
    }
  }
  const Scope sizes = scope_of(spec, of);
  const OrError<Map<std::int64_t>> before = evaluate_axes(spec, usual, sizes);
  OrError<Map<std::int64_t>> after = evaluate_axes(spec, chosen, sizes);
  if (!before || !after) {
    return std::unexpected(before ? after.error() : before.error());
  }
  for (const auto& [name, axis] : spec.axes) {
    const std::int64_t away = of.axes.at(name) - before->at(name);
    const auto set = axes.find(name);
    if (axis.kind == Axis::Kind::kExpr && (set != axes.end() || away != 0)) {
      chosen.emplace(name, Expression::constant(set != axes.end() ? set->second : after->at(name) + away));
    }
  }
  return chosen;
}

}  // namespace

OrError<Case> resized_case(const Spec& spec, const Case& of, const Map<std::int64_t>& var_axes, std::string set) {
  return varied_case(spec, of, {var_axes, {}}, std::move(set));
}

OrError<Case> varied_case(const Spec& spec, const Case& of, const Variation& variation, std::string set) {
  const bool listed = std::ranges::any_of(of.tensors, [](const Tensor& tensor) { return !tensor.values.empty(); });
  if (listed) {
    return std::unexpected(Error{"", of.id.value + " lists the contents of a tensor; they hold for its own sizes", ""});
  }
  CaseChoice choice = choices_of(spec, of, std::move(set));
  for (const auto& [name, value] : variation.scalars) {
    choice.scalars[name] = value;
  }
  OrError<Map<Expression>> chosen = axes_of(spec, of, variation.axes);
  if (!chosen) {
    return std::unexpected(std::move(chosen.error()));
  }
  choice.axes = std::move(*chosen);
  OrError<Case> made = build_case(spec, choice);
  if (made) {
    made->family = of.family;
  }
  return made;
}

}  // namespace kf
