// SPDX-License-Identifier: Apache-2.0
#include <kfactory/integers.h>
#include <kfactory/spec.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "format/nearest.h"
#include "format/spec_json.h"
#include "names.h"
#include "spec_reader.h"

namespace kf {
namespace {

constexpr std::uintmax_t kMaxFileBytes = 4u << 20;

OrError<std::string> read_text(const std::filesystem::path& path, const std::string& shown) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) {
    return std::unexpected(Error{"", "the file \"" + shown + "\" does not exist", "it is looked for beside the spec"});
  }
  if (error) {
    return std::unexpected(Error{"", "the file \"" + shown + "\" cannot be opened: " + error.message(), ""});
  }
  if (status.type() != std::filesystem::file_type::regular) {
    return std::unexpected(Error{"", "\"" + shown + "\" is no regular file", ""});
  }
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (!error && size > kMaxFileBytes) {
    return std::unexpected(Error{"",
                                 "\"" + shown + "\" has " + std::to_string(size) + " bytes, at most " +
                                     std::to_string(kMaxFileBytes) + " are allowed",
                                 ""});
  }
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file || error) {
    return std::unexpected(Error{"", "\"" + shown + "\" cannot be read: " + std::strerror(errno), ""});
  }
  return text.str();
}

void read_head(const JsonAt& root, Spec& spec) {
  const JsonAt version = root["kfactory_spec"];
  if (version.present()) {
    const std::int64_t found = version.integer(0, 1'000'000, spec_json::kVersion);
    if (found != spec_json::kVersion) {
      version.error("found version " + std::to_string(found) + ", this program reads version " +
                        std::to_string(spec_json::kVersion),
                    "use a kfactory of the spec's version");
    }
  }
  spec.name = root["name"].string();
  spec.op_type = root["op_type"].string();
  for (const std::string_view key : {"name", "op_type"}) {
    const JsonAt at = root[key];
    if (at.is(JsonNode::Kind::kString) && !is_identifier(at.node().text)) {
      at.error("found \"" + at.node().text + "\": letters, digits and _ are allowed, not a digit first");
    }
  }
  spec.description = root["description"].string();
  root["$schema"].string();  // for editors only
  if (root["tags"].present()) {
    for (const JsonAt& tag : root["tags"].items()) {
      spec.tags.push_back(tag.string());
    }
  }
  spec.nonfinite = static_cast<Nonfinite>(
      root["nonfinite"].word(spec_json::kNonfinite, static_cast<std::size_t>(Nonfinite::kUnspecified)));
  spec.arch = "sm_90a";
  if (root["target"].present() && root["target"].check(spec_json::kTarget)) {
    const std::size_t arch = root["target"]["arch"].word(spec_json::kArchs, spec_json::kArchs.size());
    spec.arch = arch < spec_json::kArchs.size() ? std::string(spec_json::kArchs[arch]) : "";
  }
}

void read_constraints(const JsonAt& at, Spec& spec) {
  if (!at.present()) {
    return;
  }
  for (const JsonAt& item : at.items()) {
    spec.constraints.push_back(read_expression(item));
    spec.constraints_text.push_back(spec.constraints.back().text());
  }
}

OrErrors<Spec> parse(std::string_view json, const std::string& file, const FileReader& read) {
  const OrErrors<JsonNode> tree = parse_json_tree(json, file);
  if (!tree) {
    return std::unexpected(tree.error());
  }
  JsonErrors sink{file, {}};
  const JsonAt root(*tree, sink);
  Spec spec;
  spec.json = json;
  if (!root.check(spec_json::kSpec)) {
    return std::unexpected(sink.errors);
  }
  read_head(root, spec);
  if (root["types"].present()) {
    read_types(root["types"], spec);
  }
  read_axes(root["axes"], spec);
  read_constraints(root["constraints"], spec);
  read_inputs(root["inputs"], spec);
  read_outputs(root["outputs"], spec);
  check_names(root, spec);
  read_work(root["work"], spec);
  read_limits(root["limits"], spec);
  check_axis_references(root, spec);
  read_reference(root["reference"], read, spec);
  read_families(root["families"], spec);
  read_tolerance(root, spec);
  read_relations(root["relations"], spec);
  read_objective(root["objective"], spec);
  read_baselines(root["baselines"], read, spec);
  // Cases are expanded from everything above; errors in both would only repeat each other.
  if (sink.errors.empty()) {
    read_cases(root["cases"], spec);
  } else if (root["cases"].present()) {
    root["cases"].check(spec_json::kCases);
  }
  if (!sink.errors.empty()) {
    return std::unexpected(sink.errors);
  }
  return spec;
}

}  // namespace

OrErrors<Spec> parse_spec(std::string_view json,
                          const std::function<OrError<std::string>(const std::string& path)>& read) {
  return parse(json, "", read);
}

OrErrors<Spec> load_spec(const std::string& path) {
  const OrError<std::string> text = read_text(path, path);
  if (!text) {
    return std::unexpected(
        Errors{{path, text.error().what, "give the path of a spec, such as specs/rmsnorm_fwd.json"}});
  }
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  return parse(*text, path, [&](const std::string& name) { return read_text(folder / name, name); });
}

bool only_integers(const Spec& spec, const std::string& dtype) {
  if (const auto known = dtype_from_string(dtype)) {
    return !is_floating(*known);
  }
  for (const auto& [name, dtypes] : spec.types) {
    if (name == dtype) {
      return std::ranges::none_of(dtypes, is_floating);
    }
  }
  return false;
}

Scope scope_of(const Spec& spec, const Case& of) {
  Scope scope;
  for (const auto& [name, value] : of.axes) {
    scope.values[name] = value;
  }
  for (int i = 0; i < kDtypeCount; ++i) {
    const auto dtype = static_cast<Dtype>(i);
    scope.sizes[std::string(to_string(dtype))] = size_in_bytes(dtype);
  }
  for (const auto& [name, dtype] : of.types) {
    scope.sizes[name] = size_in_bytes(dtype);
  }
  for (const TensorSpec& tensor : spec.tensors) {
    const auto type = of.types.find(tensor.dtype);
    const std::optional<Dtype> dtype = type != of.types.end() ? type->second : dtype_from_string(tensor.dtype);
    if (dtype) {
      scope.sizes[tensor.name] = size_in_bytes(*dtype);
    }
    if (!tensor.scalar) {
      scope.alignments[tensor.name] = tensor.align;
      scope.present[tensor.name] = false;
    }
  }
  // What the case holds wins over what the spec says: a reference's outputs are float64.
  for (const Tensor& tensor : of.tensors) {
    scope.sizes[tensor.name] = size_in_bytes(tensor.dtype);
    scope.alignments[tensor.name] = tensor.align;
    scope.present[tensor.name] = true;
  }
  return scope;
}

OrError<Work> work_of(const Spec& spec, const Case& of) {
  const Scope scope = scope_of(spec, of);
  Work work;
  const auto put = [&](const Expression& expression, std::int64_t& into) -> std::optional<Error> {
    const OrError<std::int64_t> value = expression.evaluate(scope);
    if (!value) {
      return value.error();
    }
    if (*value < 0) {
      return Error{"$.work",
                   "\"" + expression.text() + "\" is " + std::to_string(*value) + " for the case " + of.id.value +
                       "; bytes and operations are not negative",
                   ""};
    }
    into = *value;
    return std::nullopt;
  };
  for (const auto& [expression, into] :
       {std::pair{&spec.work.read_bytes, &work.read_bytes}, std::pair{&spec.work.write_bytes, &work.write_bytes},
        std::pair{&spec.work.flops, &work.flops}}) {
    if (auto error = put(*expression, *into)) {
      return std::unexpected(std::move(*error));
    }
  }
  return work;
}

}  // namespace kf
