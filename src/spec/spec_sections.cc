// SPDX-License-Identifier: Apache-2.0
// Reference, tolerance, work, families, relations, limits, objective and baselines.
#include <kfactory/family.h>
#include <kfactory/integers.h>

#include <algorithm>

#include "case_builder.h"
#include "format/nearest.h"
#include "format/spec_json.h"
#include "spec_reader.h"

namespace kf {
namespace {

std::vector<std::string> tensor_names(const Spec& spec, bool inputs) {
  std::vector<std::string> names;
  for (const TensorSpec& tensor : spec.tensors) {
    if (!tensor.scalar && (inputs ? tensor.role != TensorRole::kOutput : tensor.role != TensorRole::kInput)) {
      names.push_back(tensor.name);
    }
  }
  return names;
}

SourceFile read_file(const JsonAt& at, const FileReader& read) {
  SourceFile file;
  file.path = at.string();
  if (file.path.empty()) {
    if (at.is(JsonNode::Kind::kString)) {
      at.error("found an empty file name");
    }
    return file;
  }
  const std::string slashed = "/" + file.path + "/";
  if (file.path.front() == '/' || slashed.find("/../") != std::string::npos ||
      file.path.find('\\') != std::string::npos) {
    at.error("the file \"" + file.path + "\" is not below the spec's folder; absolute paths, .. and \\ are refused",
             "put the file beside the spec");
    return file;
  }
  OrError<std::string> content = read(file.path);
  if (content) {
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";  // some editors write it; no compiler of ours reads it
    file.content = content->substr(content->starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0);
  } else {
    at.error(content.error().what, content.error().hint);
  }
  return file;
}

std::vector<std::string> read_region(const JsonAt& at, const TensorSpec& output) {
  std::vector<std::string> region;
  std::vector<std::string> dims;
  for (const Expression& size : output.shape) {
    dims.push_back(size.text());
  }
  if (!at.present()) {
    return region;
  }
  for (const JsonAt& item : at.items()) {
    region.push_back(item.string());
    if (std::ranges::find(dims, region.back()) == dims.end()) {
      item.error("\"" + region.back() + "\" is no dim of \"" + output.name + "\"; allowed: " + joined(dims));
    }
  }
  return region;
}

// "exact": families under which outputs must be the reference, rounded. Each must be one that some input draws from.
std::vector<std::string> read_exact(const JsonAt& at, const Spec& spec) {
  std::vector<std::string> exact;
  if (!at.present()) {
    return exact;
  }
  for (const JsonAt& item : at.items()) {
    exact.push_back(item.string());
    const bool drawn = std::ranges::any_of(spec.families, [&](const auto& entry) {
      return std::ranges::find(entry.second, exact.back()) != entry.second.end();
    });
    if (!drawn) {
      item.error("no input lists the family \"" + exact.back() + "\", so nothing would be tested with it",
                 "add it to \"families\" of the inputs that it is meant for");
    }
  }
  return exact;
}

// "ties": which indices an index output may hold.
void read_ties(const JsonAt& at, const Spec& spec, const TensorSpec& output, Bound& bound) {
  if (!at.present() || !at.check(spec_json::kTies)) {
    return;
  }
  bound.ties_of = at["of"].string();
  bound.ties_along = at["along"].string();
  if (!only_integers(spec, output.dtype)) {
    at.error("\"" + output.name + "\" is no output of integers; only indices have ties");
  }
  const TensorSpec* indexed = find_tensor(spec, bound.ties_of);
  if (indexed == nullptr || indexed->scalar || indexed->role == TensorRole::kOutput) {
    at["of"].error("\"" + bound.ties_of + "\" is no input tensor; inputs: " + joined(tensor_names(spec, true)));
    return;
  }
  std::vector<std::string> dims;
  for (const Expression& size : indexed->shape) {
    dims.push_back(size.text());
  }
  if (std::ranges::count(dims, bound.ties_along) != 1) {
    at["along"].error("\"" + bound.ties_along + "\" is not exactly one dim of \"" + bound.ties_of +
                      "\"; its dims: " + joined(dims));
  }
  for (const std::string& dim : dims) {
    const bool in_output =
        std::ranges::any_of(output.shape, [&](const Expression& size) { return size.text() == dim; });
    if (dim != bound.ties_along && !in_output) {
      at.error("\"" + output.name + "\" lacks the dim " + dim + " of \"" + bound.ties_of +
               "\": nothing says which part of it an index points into");
    }
  }
}

constexpr double kMostIllConditioned = 0.01;

// Integers are compared for equality: a figure for rounding errors would be ignored, so it is refused.
void refuse_errors_of_integers(const JsonAt& at, const TensorSpec& output) {
  for (const std::string_view key : {"ulp", "acc", "cond", "rms", "region", "exact"}) {
    if (at[key].present()) {
      at[key].error("\"" + output.name + "\" is an output of integers, which must be equal: \"" + std::string(key) +
                        "\" would change nothing; allowed: ties, ill_conditioned",
                    "docs/formats/spec.md, Rounding to integers, says how honest kernels agree on them");
    }
  }
}

void read_errors(const JsonAt& at, const Spec& spec, const TensorSpec& output, Bound& bound) {
  bound.ulp = at["ulp"].number(0.0, 1.0);
  bound.acc = at["acc"].number(0.0, 0.0);
  bound.condition = at["cond"].string();
  bound.rms = at["rms"].number(0.0, 0.0);
  bound.region = read_region(at["region"], output);
  bound.exact = read_exact(at["exact"], spec);
  if (at["cond"].present() && (!bound.condition.ends_with("__cond") || bound.condition.size() == 6)) {
    at["cond"].error("found \"" + bound.condition + "\"; a condition's name ends in __cond, as in \"" + output.name +
                     "__cond\"");
  }
  if (!bound.region.empty() && bound.rms == 0.0) {
    at["region"].error("a region without \"rms\" has no effect", "give \"rms\" a value above 0");
  }
}

Bound read_bound(const JsonAt& at, const Spec& spec, const TensorSpec& output) {
  Bound bound;
  if (only_integers(spec, output.dtype)) {
    refuse_errors_of_integers(at, output);
    bound.ulp = 0.0;
  } else {
    read_errors(at, spec, output, bound);
  }
  read_ties(at["ties"], spec, output, bound);
  bound.ill_conditioned = at["ill_conditioned"].number(0.0, 0.0);
  if (bound.ill_conditioned > kMostIllConditioned) {
    at["ill_conditioned"].error(
        "found " + number_text(bound.ill_conditioned) + "; at most 0.01 of an output may be left out",
        "draw the inputs from families that stay away from the operation's jumps");
  }
  return bound;
}

// Slicing is sound only where the axis is a plain dim: then a slice is a range of indices of each tensor.
void check_slice(const JsonAt& at, const Spec& spec) {
  const std::string& axis = spec.reference.slice;
  std::vector<std::string> known;
  for (const auto& [name, value] : spec.axes) {
    known.push_back(name);
  }
  if (find_axis(spec, axis) == nullptr) {
    at.error("unknown axis \"" + axis + "\"; known: " + joined(known), did_you_mean(axis, known));
    return;
  }
  for (const TensorSpec& tensor : spec.tensors) {
    int plain = 0;
    for (const Expression& size : tensor.shape) {
      const std::vector<std::string> names = size.names();
      const bool depends =
          std::ranges::any_of(names, [&](const std::string& name) { return axis_closure(spec, name).contains(axis); });
      plain += size.text() == axis ? 1 : 0;
      if (depends && size.text() != axis) {
        at.error("cannot slice along " + axis + ": \"" + tensor.name + "\" has the dim \"" + size.text() + "\"",
                 "slice along an axis that is a plain dim, or leave \"slice\" out");
      }
    }
    if (plain > 1 || (plain == 0 && tensor.role != TensorRole::kInput)) {
      at.error("cannot slice along " + axis + ": it must be exactly one dim of the output \"" + tensor.name + "\"");
    }
  }
}

}  // namespace

void read_reference(const JsonAt& at, const FileReader& read, Spec& spec) {
  if (!at.check(spec_json::kReference)) {
    return;
  }
  spec.reference.cuda = read_file(at["cuda"], read);
  spec.reference.slice = at["slice"].string();
  if (!spec.reference.slice.empty()) {
    check_slice(at["slice"], spec);
  }
}

void read_tolerance(const JsonAt& root, Spec& spec) {
  const JsonAt at = root["tolerance"];
  const std::vector<std::string> outputs = tensor_names(spec, false);
  std::vector<std::string> mistyped;
  for (const auto& [name, value] : at.members()) {
    if (std::ranges::find(outputs, name) == outputs.end()) {
      value.error("\"" + name + "\" is no output; outputs: " + joined(outputs), did_you_mean(name, outputs));
      mistyped.push_back(nearest_name(name, outputs));
    } else if (value.check(spec_json::kTolerance)) {
      spec.tolerance[name] = read_bound(value, spec, *find_tensor(spec, name));
    }
  }
  for (const std::string& name : outputs) {
    const std::string& dtype = find_tensor(spec, name)->dtype;
    const bool known =
        dtype_from_string(dtype) ||
        std::ranges::find(spec.types, dtype, &decltype(spec.types)::value_type::first) != spec.types.end();
    const bool said = !known || at[name].present() || std::ranges::find(mistyped, name) != mistyped.end();
    if (!said && !only_integers(spec, dtype) && at.is(JsonNode::Kind::kObject)) {
      at.error("the output \"" + name + "\" has no tolerance", "for example {\"ulp\": 1, \"acc\": 2}");
    }
    if (!spec.tolerance.contains(name)) {
      spec.tolerance[name] = Bound{.ulp = 0.0};
    }
  }
}

void read_work(const JsonAt& at, Spec& spec) {
  if (at.check(spec_json::kWork)) {
    spec.work.read_bytes = read_expression(at["read_bytes"]);
    spec.work.write_bytes = read_expression(at["write_bytes"]);
    spec.work.flops = read_expression(at["flops"]);
  }
}

void read_families(const JsonAt& at, Spec& spec) {
  if (!at.present()) {
    return;
  }
  const std::vector<std::string> inputs = tensor_names(spec, true);
  std::vector<std::string> known;
  for (const FamilyFacts& family : kFamilies) {
    known.emplace_back(family.name);
  }
  for (const auto& [name, list] : at.members()) {
    if (std::ranges::find(inputs, name) == inputs.end()) {
      list.error("\"" + name + "\" is no input tensor; inputs: " + joined(inputs), did_you_mean(name, inputs));
      continue;
    }
    std::vector<std::string>& families = spec.families[name];
    for (const JsonAt& item : list.items()) {
      families.push_back(item.string());
      if (item.is(JsonNode::Kind::kString) && !family_from_string(families.back())) {
        item.error("unknown family \"" + families.back() + "\"; known: " + joined(known),
                   did_you_mean(families.back(), known));
      }
    }
    if (families.empty()) {
      list.error("a list of at least one family is expected; known: " + joined(known));
    }
  }
}

void read_relations(const JsonAt& at, Spec& spec) {
  if (!at.present()) {
    return;
  }
  std::vector<std::string> axes;
  for (const auto& [name, axis] : spec.axes) {
    axes.push_back(name);
  }
  const std::vector<std::string> inputs = tensor_names(spec, true);
  for (const JsonAt& item : at.items()) {
    const std::string text = item.string();
    const std::size_t colon = text.find(':');
    const std::string kind = text.substr(0, colon);
    const std::string argument = colon == std::string::npos ? "" : text.substr(colon + 1);
    if (std::ranges::find(spec_json::kRelations, kind) == spec_json::kRelations.end() || argument.empty()) {
      if (item.is(JsonNode::Kind::kString)) {
        item.error("found \"" + text + "\", allowed: permute:AXIS, scale:INPUT, concat:AXIS");
      }
      continue;
    }
    const std::vector<std::string>& known = kind == "scale" ? inputs : axes;
    if (std::ranges::find(known, argument) == known.end()) {
      item.error("\"" + argument + "\" is no " + (kind == "scale" ? "input" : "axis") + "; known: " + joined(known),
                 did_you_mean(argument, known));
    }
    spec.relations.push_back(text);
  }
}

void read_limits(const JsonAt& at, Spec& spec) {
  if (!at.present() || !at.check(spec_json::kLimits)) {
    return;
  }
  if (at["workspace_bytes"].present()) {
    spec.limits.workspace_bytes = read_expression(at["workspace_bytes"]);
  }
  spec.limits.deterministic = at["deterministic"].boolean(false);
  if (at["nvrtc_flags"].present()) {
    for (const JsonAt& item : at["nvrtc_flags"].items()) {
      item.word(spec_json::kNvrtcFlags, 0);
      spec.limits.nvrtc_flags.push_back(item.string());
    }
  }
  spec.limits.cliff = at["cliff"].number(0.0, spec.limits.cliff);
  if (at["cliff"].present() && spec.limits.cliff > 0.0 && spec.limits.cliff < 1.0) {
    at["cliff"].error("found " + number_text(spec.limits.cliff) + "; a factor of at least 1 is expected, or 0 for any");
  }
  if (at["allow"].present()) {
    for (const JsonAt& item : at["allow"].items()) {
      item.word(spec_json::kAllow, 0);
      spec.limits.allow.push_back(item.string());
    }
  }
}

void read_objective(const JsonAt& at, Spec& spec) {
  if (!at.present() || !at.check(spec_json::kObjective)) {
    return;
  }
  spec.objective.minimise = spec_json::kMinimise[at["minimise"].word(spec_json::kMinimise, 0)];
  spec.objective.aggregate = spec_json::kAggregates[at["aggregate"].word(spec_json::kAggregates, 0)];
  spec.objective.state = static_cast<CacheState>(at["state"].word(spec_json::kCacheStates, 0));
  spec.objective.veto = at["veto"].number(0.0, 0.0);
}

void read_baselines(const JsonAt& at, const FileReader& read, Spec& spec) {
  if (!at.present()) {
    return;
  }
  for (const JsonAt& item : at.items()) {
    if (!item.check(spec_json::kBaseline)) {
      continue;
    }
    BaselineSpec baseline;
    baseline.name = item["name"].string();
    if (item["name"].is(JsonNode::Kind::kString) && baseline.name.empty()) {
      item["name"].error("found an empty name");
    }
    if (std::ranges::find(spec.baselines, baseline.name, &BaselineSpec::name) != spec.baselines.end()) {
      item["name"].error("the baseline \"" + baseline.name + "\" is there twice");
    }
    if (item["cuda"].present() == item["python"].present()) {
      item.error("a baseline has either \"cuda\" or \"python\"");
    }
    baseline.kind = item["python"].present() ? BaselineSpec::Kind::kPython : BaselineSpec::Kind::kCuda;
    baseline.source = read_file(item["python"].present() ? item["python"] : item["cuda"], read);
    spec.baselines.push_back(std::move(baseline));
  }
}

}  // namespace kf
