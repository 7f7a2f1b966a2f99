// SPDX-License-Identifier: Apache-2.0
// Types, axes, inputs and outputs.
#include <algorithm>
#include <iterator>
#include <map>

#include "format/nearest.h"
#include "format/spec_json.h"
#include "names.h"
#include "spec_reader.h"

namespace kf {
namespace {

std::vector<std::string> dtype_names() {
  std::vector<std::string> names;
  for (int i = 0; i < kDtypeCount; ++i) {
    names.emplace_back(to_string(static_cast<Dtype>(i)));
  }
  return names;
}

// The dtype or type that was most likely meant. Another width is no slip of the finger: "int4" is not "int64".
std::string dtype_hint(const std::string& name, std::vector<std::string> known) {
  const auto digits = [](const std::string& of) {
    std::string text;
    std::ranges::copy_if(of, std::back_inserter(text), [](char c) { return c >= '0' && c <= '9'; });
    return text;
  };
  std::erase_if(known, [&](const std::string& other) { return digits(other) != digits(name); });
  return did_you_mean(name, known);
}

std::optional<Dtype> read_dtype(const JsonAt& at) {
  const std::string name = at.string();
  const std::optional<Dtype> dtype = dtype_from_string(name);
  if (!dtype && at.is(JsonNode::Kind::kString)) {
    at.error("unknown dtype \"" + name + "\"; allowed: " + joined(dtype_names()), dtype_hint(name, dtype_names()));
  }
  return dtype;
}

void check_name(const JsonAt& at, std::string_view name) {
  if (const auto reason = why_no_name(name)) {
    at.error(*reason);
  }
}

void check_dtype_name(const JsonAt& at, const Spec& spec, const std::string& name) {
  std::vector<std::string> known;
  for (const auto& [type, dtypes] : spec.types) {
    known.push_back(type);
  }
  for (const std::string& dtype : dtype_names()) {
    known.push_back(dtype);
  }
  if (at.is(JsonNode::Kind::kString) && std::ranges::find(known, name) == known.end()) {
    at.error("unknown dtype \"" + name + "\"; allowed: " + joined(known), dtype_hint(name, known));
  }
}

void read_layout(const JsonAt& at, TensorSpec& tensor) {
  constexpr std::size_t kMaxRank = 8;
  tensor.scalar = at["shape"].is_null();
  if (tensor.scalar) {
    return;
  }
  tensor.shape = read_expressions(at["shape"]);
  if (tensor.shape.size() > kMaxRank) {
    at["shape"].error("found " + std::to_string(tensor.shape.size()) + " dims, at most 8 are allowed");
  }
  if (at["strides"].present()) {
    tensor.strides = read_expressions(at["strides"]);
    if (tensor.strides.size() != tensor.shape.size()) {
      at["strides"].error("found " + std::to_string(tensor.strides.size()) + " strides for " +
                          std::to_string(tensor.shape.size()) + " dims");
    }
  }
}

void read_alignment(const JsonAt& at, TensorSpec& tensor) {
  if (!at["align"].present()) {
    return;
  }
  tensor.align = at["align"].integer(1, 256, 16);
  if ((tensor.align & (tensor.align - 1)) != 0) {
    at["align"].error("found " + std::to_string(tensor.align) + ", allowed: a power of two from 1 to 256 (bytes)");
    tensor.align = 16;
  }
}

TensorSpec read_tensor(const std::string& name, const JsonAt& at, const Spec& spec) {
  check_name(at, name);
  TensorSpec tensor;
  tensor.name = name;
  read_layout(at, tensor);
  read_alignment(at, tensor);
  tensor.dtype = at["dtype"].string();
  check_dtype_name(at["dtype"], spec, tensor.dtype);
  tensor.optional = at["optional"].boolean(false);
  tensor.description = at["description"].string();
  tensor.values_from_case = at["values"].present();
  at["values"].word(spec_json::kValuesFrom, 0);
  return tensor;
}

void refuse(const JsonAt& at, std::string_view key, const std::string& reason) {
  if (at[key].present()) {
    at[key].error(reason);
  }
}

void check_scalar(const JsonAt& at, const TensorSpec& scalar) {
  for (const std::string_view key : {"strides", "align", "values"}) {
    refuse(at, key, "a scalar (\"shape\": null) has no " + std::string(key));
  }
  if (scalar.optional) {
    at["optional"].error("a scalar cannot be optional", "give it a \"default\" instead");
  }
}

}  // namespace

Expression read_expression(const JsonAt& at) {
  const std::optional<std::string> text = at.expression_text();
  if (!text) {
    return {};
  }
  OrError<Expression> expression = Expression::parse(*text, at.where());
  if (!expression) {
    const std::string& where = expression.error().where;
    const std::size_t comma = where.rfind(", column ");
    at.error((comma == std::string::npos ? where : where.substr(comma + 2)) + ": " + expression.error().what,
             expression.error().hint);
    return {};
  }
  return *expression;
}

std::vector<Expression> read_expressions(const JsonAt& at) {
  std::vector<Expression> expressions;
  for (const JsonAt& item : at.items()) {
    expressions.push_back(read_expression(item));
  }
  return expressions;
}

void read_types(const JsonAt& at, Spec& spec) {
  for (const auto& [name, list] : at.members()) {
    check_name(list, name);
    if (dtype_from_string(name)) {
      list.error("\"" + name + "\" is a dtype and cannot name a type", "call it T");
    }
    std::vector<Dtype> dtypes;
    for (const JsonAt& item : list.items()) {
      const std::optional<Dtype> dtype = read_dtype(item);
      if (dtype && std::ranges::find(dtypes, *dtype) != dtypes.end()) {
        item.error("\"" + item.node().text + "\" is there twice");
      } else if (dtype) {
        dtypes.push_back(*dtype);
      }
    }
    if (list.is(JsonNode::Kind::kArray) && list.node().items.empty()) {
      list.error("a type needs at least one dtype; allowed: " + joined(dtype_names()));
    }
    spec.types.emplace_back(name, std::move(dtypes));
  }
}

void read_axes(const JsonAt& at, Spec& spec) {
  for (const auto& [name, value] : at.members()) {
    check_name(value, name);
    Axis axis;
    if (value.check(spec_json::kAxis)) {
      axis.kind = static_cast<Axis::Kind>(value["type"].word(spec_json::kAxisKinds, 1));
      axis.description = value["description"].string();
      const bool is_const = axis.kind == Axis::Kind::kConst;
      const bool is_expr = axis.kind == Axis::Kind::kExpr;
      if (value["value"].present() != is_const) {
        value.error(is_const ? "a const axis needs \"value\"" : "only a const axis has \"value\"");
      }
      if (value["expression"].present() != is_expr) {
        value.error(is_expr ? "an expr axis needs \"expression\"" : "only an expr axis has \"expression\"");
      }
      axis.value = value["value"].integer(0, std::numeric_limits<std::int64_t>::max());
      axis.expression = read_expression(value["expression"]);
    }
    spec.axes.emplace_back(name, std::move(axis));
  }
}

void read_inputs(const JsonAt& at, Spec& spec) {
  for (const auto& [name, value] : at.members()) {
    if (!value.check(spec_json::kInput)) {
      continue;
    }
    TensorSpec tensor = read_tensor(name, value, spec);
    if (tensor.scalar) {
      check_scalar(value, tensor);
      if (value["default"].present()) {
        tensor.default_value = value["default"].number(std::numeric_limits<double>::lowest());
      }
    } else {
      refuse(value, "default", "only a scalar (\"shape\": null) has a default");
    }
    spec.tensors.push_back(std::move(tensor));
  }
}

void read_outputs(const JsonAt& at, Spec& spec) {
  std::size_t count = 0;
  for (const auto& [name, value] : at.members()) {
    ++count;
    if (!value.check(spec_json::kOutput)) {
      continue;
    }
    TensorSpec tensor = read_tensor(name, value, spec);
    tensor.role = value["inout"].boolean(false) ? TensorRole::kInout : TensorRole::kOutput;
    if (tensor.scalar) {
      value["shape"].error("an output must be a tensor", "\"shape\": [] is one element");
      tensor.scalar = false;
    }
    if (tensor.role != TensorRole::kInout) {
      refuse(value, "values", "only inputs and inout tensors have values");
    }
    spec.tensors.push_back(std::move(tensor));
  }
  if (at.is(JsonNode::Kind::kObject) && count == 0) {
    at.error("an operation needs at least one output");
  }
}

void check_names(const JsonAt& root, const Spec& spec) {
  std::map<std::string, std::string, std::less<>> taken;  // name -> path
  const auto take = [&](std::string_view section, const std::string& name) {
    const JsonAt at = root[section][name];
    const auto [it, inserted] = taken.emplace(name, at.path());
    if (!inserted) {
      at.error("the name \"" + name + "\" is taken by " + it->second,
               "axes, types, inputs and outputs share one set of names");
    }
    if (name.ends_with("__cond") || name.ends_with("__in")) {
      at.error("names that end in __cond or __in are reserved for references");
    }
    for (const JsonKey& key : spec_json::kCase.keys) {
      if (key.name == name) {
        at.error("\"" + name + "\" is a key of cases and cannot be a name");
      }
    }
  };
  for (const auto& [name, dtypes] : spec.types) {
    take("types", name);
  }
  for (const auto& [name, axis] : spec.axes) {
    take("axes", name);
  }
  for (const auto& [name, value] :
       root["inputs"].is(JsonNode::Kind::kObject) ? root["inputs"].members() : decltype(root.members()){}) {
    take("inputs", name);
  }
  for (const auto& [name, value] :
       root["outputs"].is(JsonNode::Kind::kObject) ? root["outputs"].members() : decltype(root.members()){}) {
    take("outputs", name);
  }
}

const TensorSpec* find_tensor(const Spec& spec, std::string_view name) {
  const auto found = std::ranges::find(spec.tensors, name, &TensorSpec::name);
  return found == spec.tensors.end() ? nullptr : &*found;
}

const Axis* find_axis(const Spec& spec, std::string_view name) {
  const auto found = std::ranges::find(spec.axes, name, &std::pair<std::string, Axis>::first);
  return found == spec.axes.end() ? nullptr : &found->second;
}

std::set<std::string> axis_closure(const Spec& spec, const std::string& name) {
  std::set<std::string> reached;
  std::vector<std::string> open{name};
  while (!open.empty()) {
    const std::string next = open.back();
    open.pop_back();
    if (!reached.insert(next).second) {
      continue;
    }
    const Axis* axis = find_axis(spec, next);
    if (axis != nullptr && axis->kind == Axis::Kind::kExpr) {
      for (const std::string& used : axis->expression.names()) {
        open.push_back(used);
      }
    }
  }
  return reached;
}

void check_axis_references(const JsonAt& root, const Spec& spec) {
  std::vector<std::string> known;
  for (const auto& [name, axis] : spec.axes) {
    known.push_back(name);
  }
  const auto check = [&](const JsonAt& at, const Expression& expression) {
    for (const std::string& name : expression.names()) {
      if (find_axis(spec, name) == nullptr) {
        at.error("unknown axis \"" + name + "\" in \"" + expression.text() + "\"; known: " + joined(known),
                 did_you_mean(name, known));
      }
    }
    if (!expression.resident_kernels().empty()) {
      at.error("resident() is for launch plans only");
    }
  };
  for (const auto& [name, axis] : spec.axes) {
    if (axis.kind == Axis::Kind::kExpr) {
      const JsonAt at = root["axes"][name]["expression"];
      check(at, axis.expression);
      for (const std::string& used : axis.expression.names()) {
        if (axis_closure(spec, used).contains(name)) {
          at.error("the axis \"" + name + "\" depends on itself, through \"" + used + "\"");
          break;
        }
      }
    }
  }
  for (const TensorSpec& tensor : spec.tensors) {
    const JsonAt at = root[tensor.role == TensorRole::kInput ? "inputs" : "outputs"][tensor.name];
    for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
      check(at["shape"].items()[i], tensor.shape[i]);
    }
    for (std::size_t i = 0; i < tensor.strides.size(); ++i) {
      check(at["strides"].items()[i], tensor.strides[i]);
    }
  }
  for (std::size_t i = 0; i < spec.constraints.size(); ++i) {
    check(root["constraints"].items()[i], spec.constraints[i]);
  }
  check(root["work"]["read_bytes"], spec.work.read_bytes);
  check(root["work"]["write_bytes"], spec.work.write_bytes);
  check(root["work"]["flops"], spec.work.flops);
  check(root["limits"]["workspace_bytes"], spec.limits.workspace_bytes);
}

}  // namespace kf
