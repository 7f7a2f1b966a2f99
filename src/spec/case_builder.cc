// SPDX-License-Identifier: Apache-2.0
#include "case_builder.h"

#include <kfactory/digest.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "format/nearest.h"
#include "spec_reader.h"

namespace kf {
namespace {

class AxisEvaluator {
 public:
  AxisEvaluator(const Spec& spec, const Map<Expression>& chosen, const Scope& sizes)
      : spec_(spec), chosen_(chosen), scope_(sizes) {
    scope_.values.clear();
  }

  OrError<Map<std::int64_t>> all() {
    for (const auto& [name, axis] : spec_.axes) {
      if (auto error = evaluate(name)) {
        return std::unexpected(std::move(*error));
      }
    }
    return scope_.values;
  }

 private:
  std::optional<Error> evaluate(const std::string& name) {
    if (scope_.values.contains(name)) {
      return std::nullopt;
    }
    if (!open_.insert(name).second) {
      return Error{"", "the axis \"" + name + "\" depends on itself in this case", ""};
    }
    const Axis* axis = find_axis(spec_, name);
    const auto chosen = chosen_.find(name);
    if (axis == nullptr || (axis->kind == Axis::Kind::kVar && chosen == chosen_.end())) {
      return Error{"", axis == nullptr ? "unknown axis \"" + name + "\"" : "the axis \"" + name + "\" has no value",
                   ""};
    }
    const Expression expression = chosen != chosen_.end()            ? chosen->second
                                  : axis->kind == Axis::Kind::kConst ? Expression::constant(axis->value)
                                                                     : axis->expression;
    for (const std::string& used : expression.names()) {
      if (auto error = evaluate(used)) {
        return error;
      }
    }
    const OrError<std::int64_t> value = expression.evaluate(scope_);
    if (!value) {
      return value.error();
    }
    if (*value < 0) {
      return Error{"", "the axis " + name + " is " + std::to_string(*value) + "; it must not be negative", ""};
    }
    scope_.values[name] = *value;
    return std::nullopt;
  }

  const Spec& spec_;
  const Map<Expression>& chosen_;
  Scope scope_;
  std::set<std::string> open_;
};

std::string default_family(const Spec& spec) {
  for (const TensorSpec& tensor : spec.tensors) {
    const auto families = spec.families.find(tensor.name);
    if (families != spec.families.end() && !families->second.empty()) {
      return families->second.front();
    }
  }
  return "normal";
}

bool is_there(const TensorSpec& tensor, const CaseChoice& choice) {
  return !tensor.optional || std::ranges::find(choice.with, tensor.name) != choice.with.end();
}

std::optional<Error> set_scalar(const TensorSpec& scalar, const CaseChoice& choice, Case& of) {
  const auto given = choice.scalars.find(scalar.name);
  if (given == choice.scalars.end() && !scalar.default_value) {
    return Error{"", "the scalar \"" + scalar.name + "\" has no value and no default",
                 "give it in the case, or a \"default\" where it is declared"};
  }
  const double value = given != choice.scalars.end() ? given->second : *scalar.default_value;
  const Dtype dtype = dtype_in(scalar.dtype, of.types);
  if (!is_floating(dtype) && (value != std::trunc(value) || std::abs(value) > 9.007199254740992e15)) {
    return Error{"",
                 "the scalar \"" + scalar.name + "\" is " + number_text(value) + ", which is no " +
                     std::string(to_string(dtype)),
                 ""};
  }
  of.scalars[scalar.name] = value;
  of.scalar_types[scalar.name] = dtype;
  return std::nullopt;
}

std::optional<Error> set_contents(const TensorSpec& declared, const CaseChoice& choice, const Scope& scope,
                                  Tensor& tensor) {
  if (!declared.values_from_case) {
    return std::nullopt;
  }
  const JsonAt* values = choice.values ? &*choice.values : nullptr;
  if (values == nullptr || !(*values)[tensor.name].present()) {
    return Error{"", "the case states no values of \"" + tensor.name + "\"",
                 R"(for example "values": {")" + tensor.name + R"(": [0, 5, 9]})"};
  }
  OrError<std::vector<std::int64_t>> contents = read_values((*values)[tensor.name], tensor, scope);
  if (!contents) {
    return contents.error();
  }
  tensor.values = std::move(*contents);
  return std::nullopt;
}

std::optional<Error> check_constraints(const Spec& spec, const Case& of) {
  const Scope scope = scope_of(spec, of);
  for (const Expression& constraint : spec.constraints) {
    const OrError<std::int64_t> holds = constraint.evaluate(scope);
    if (!holds) {
      return holds.error();
    }
    if (*holds == 0) {
      return Error{"", "the constraint \"" + constraint.text() + "\" does not hold", ""};
    }
  }
  return std::nullopt;
}

std::string contents_mark(const Case& of) {
  std::string text;
  for (const Tensor& tensor : of.tensors) {
    for (const std::int64_t value : tensor.values) {
      text += std::to_string(value) + ",";
    }
    text += ";";
  }
  return to_hex(sha256(text)).substr(0, 6);
}

}  // namespace

OrError<Map<std::int64_t>> evaluate_axes(const Spec& spec, const Map<Expression>& chosen, const Scope& sizes) {
  return AxisEvaluator(spec, chosen, sizes).all();
}

Dtype dtype_in(const std::string& dtype, const Map<Dtype>& types) {
  const auto type = types.find(dtype);
  return type != types.end() ? type->second : dtype_from_string(dtype).value_or(Dtype::kFloat32);
}

std::string number_text(double value) {
  char text[64];
  const auto end = std::to_chars(text, text + sizeof text, value);
  return {text, end.ptr};
}

OrError<Case> build_case(const Spec& spec, const CaseChoice& choice) {
  Case of;
  of.set = choice.set;
  of.types = choice.types;
  OrError<Map<std::int64_t>> axes = evaluate_axes(spec, choice.axes, scope_of(spec, of));
  if (!axes) {
    return std::unexpected(std::move(axes.error()));
  }
  of.axes = std::move(*axes);
  of.family = choice.family.empty() ? default_family(spec) : choice.family;
  const Scope scope = scope_of(spec, of);
  for (const TensorSpec& declared : spec.tensors) {
    if (declared.scalar) {
      if (auto error = set_scalar(declared, choice, of)) {
        return std::unexpected(std::move(*error));
      }
      continue;
    }
    if (!is_there(declared, choice)) {
      of.absent.push_back(declared.name);
      continue;
    }
    OrError<Tensor> tensor = lay_out(declared, dtype_in(declared.dtype, of.types), scope);
    if (!tensor) {
      return std::unexpected(std::move(tensor.error()));
    }
    if (auto error = set_contents(declared, choice, scope, *tensor)) {
      return std::unexpected(std::move(*error));
    }
    of.tensors.push_back(std::move(*tensor));
  }
  if (auto error = check_constraints(spec, of)) {
    return std::unexpected(std::move(*error));
  }
  of.id.value = case_id(spec, choice, of);
  return of;
}

std::string case_id(const Spec& spec, const CaseChoice& choice, const Case& of) {
  std::string text;
  const auto add = [&](const std::string& key, const std::string& value) {
    text += (text.empty() ? "" : ",") + key + "=" + value;
  };
  for (const auto& [name, axis] : spec.axes) {
    if (choice.axes.contains(name)) {
      add(name, std::to_string(of.axes.at(name)));
    }
  }
  for (const auto& [name, dtypes] : spec.types) {
    add(name, std::string(to_string(of.types.at(name))));
  }
  for (const auto& [name, value] : choice.scalars) {
    add(name, number_text(value));
  }
  std::string with;
  for (const std::string& name : choice.with) {
    with += (with.empty() ? "" : "+") + name;
  }
  if (!with.empty()) {
    add("with", with);
  }
  if (!choice.family.empty()) {
    add("family", choice.family);
  }
  if (choice.values) {
    add("values", contents_mark(of));
  }
  return choice.set + "/" + (text.empty() ? "only" : text);
}

}  // namespace kf
