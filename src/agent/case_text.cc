// SPDX-License-Identifier: Apache-2.0
#include "agent/case_text.h"

#include <algorithm>

namespace kf {

bool may_be_shown(std::string_view case_id) {
  return !case_id.starts_with("held_out");
}

const std::vector<Case>& shown_cases(const Spec& spec, std::string_view set) {
  static const std::vector<Case> kNone;
  const auto found = spec.cases.find(set);
  return !may_be_shown(set) || found == spec.cases.end() ? kNone : found->second;
}

const Case* shown_case(const Spec& spec, std::string_view case_id) {
  for (const auto& [set, cases] : spec.cases) {
    if (may_be_shown(set)) {
      const auto found =
          std::ranges::find(cases, case_id, [](const Case& of) { return std::string_view(of.id.value); });
      if (found != cases.end()) {
        return &*found;
      }
    }
  }
  return nullptr;
}

namespace {

// An axis that follows from the others says nothing, unless the case sets it to something else.
bool is_implied(const Spec& spec, const Case& of, const Axis& axis, std::int64_t value) {
  if (axis.kind != Axis::Kind::kExpr) {
    return axis.kind == Axis::Kind::kConst;
  }
  const OrError<std::int64_t> usual = axis.expression.evaluate(scope_of(spec, of));
  return usual && *usual == value;
}

bool is_usual_family(const Spec& spec, const std::string& family) {
  return family.empty() || std::ranges::all_of(spec.families, [&](const auto& entry) {
           return !entry.second.empty() && entry.second.front() == family;
         });
}

}  // namespace

std::string describe_shape(const Spec& spec, const Case& of) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  for (const auto& [name, axis] : spec.axes) {
    const auto value = of.axes.find(name);
    if (value != of.axes.end() && !is_implied(spec, of, axis, value->second)) {
      add(name + "=" + std::to_string(value->second));
    }
  }
  for (const TensorSpec& tensor : spec.tensors) {
    if (tensor.optional && !tensor.scalar && std::ranges::find(of.absent, tensor.name) == of.absent.end()) {
      add("with " + tensor.name);
    }
  }
  if (!is_usual_family(spec, of.family)) {
    add("contents " + of.family);
  }
  return text;
}

std::string describe_types(const Case& of) {
  std::string text;
  for (const auto& [name, dtype] : of.types) {
    text += (text.empty() ? "" : ", ") + name + "=" + std::string(to_string(dtype));
  }
  return text;
}

std::string describe_case(const Spec& spec, const Case& of) {
  const std::string shape = describe_shape(spec, of);
  const std::string types = describe_types(of);
  return shape.empty() && types.empty() ? of.id.value : shape + (shape.empty() || types.empty() ? "" : ", ") + types;
}

std::optional<double> floor_nanoseconds(const Spec& spec, const Case& of, const DeviceFacts& facts) {
  const OrError<Work> work = work_of(spec, of);
  if (!work || facts.dram_bytes_per_second <= 0) {
    return std::nullopt;
  }
  const auto written = static_cast<double>(std::max<std::int64_t>(0, work->write_bytes - facts.l2_bytes));
  return (static_cast<double>(work->read_bytes) + written) / facts.dram_bytes_per_second * 1e9;
}

OrError<bool> within_scope(const Spec& spec, const Case& of, const std::vector<std::string>& dtypes,
                           const std::vector<std::string>& shapes) {
  const auto named = [&](Dtype dtype) { return std::ranges::find(dtypes, to_string(dtype)) != dtypes.end(); };
  const bool by_type = std::ranges::any_of(of.types, [&](const auto& entry) { return named(entry.second); });
  const bool by_tensor =
      of.types.empty() && std::ranges::any_of(of.tensors, [&](const Tensor& tensor) { return named(tensor.dtype); });
  bool within = dtypes.empty() || by_type || by_tensor;
  const Scope scope = scope_of(spec, of);
  for (const std::string& shape : shapes) {
    const OrError<Expression> expression = Expression::parse(shape, "shapes");
    if (!expression) {
      return std::unexpected(expression.error());
    }
    const OrError<std::int64_t> value = expression->evaluate(scope);
    if (!value) {
      return std::unexpected(value.error());
    }
    within = within && *value != 0;
  }
  return within;
}

}  // namespace kf
