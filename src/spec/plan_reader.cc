// SPDX-License-Identifier: Apache-2.0
#include "plan_reader.h"

#include <algorithm>
#include <map>
#include <set>

#include "format/nearest.h"
#include "format/plan_json.h"
#include "names.h"
#include "plan_parts.h"
#include "spec_reader.h"

namespace kf {
namespace {

constexpr std::size_t kMaxTunePoints = 1024;
constexpr std::size_t kMaxKernels = 64;

class PlanReader {
 public:
  PlanReader(JsonAt root, LaunchPlan& plan) : root_(std::move(root)), plan_(plan) {}

  void read() {
    if (!root_.check(plan_json::kPlan)) {
      return;
    }
    const JsonAt version = root_["plan"];
    if (version.present()) {
      const std::int64_t found = version.integer(0, 1'000'000, plan_json::kVersion);
      if (found != plan_json::kVersion) {
        version.error("found version " + std::to_string(found) + ", allowed: " + std::to_string(plan_json::kVersion));
      }
    }
    plan_.hypothesis = root_["hypothesis"].string();
    read_tune();
    read_defines();
    read_select();
    read_workspaces();
    read_tensor_maps();
    read_kernels();
    check_after();
    check_resident();
  }

 private:
  using Members = std::vector<std::pair<std::string, JsonAt>>;
  Members members(std::string_view key) const { return root_[key].present() ? root_[key].members() : Members{}; }

  // Names of defines, tune values, workspaces and tensor maps are one set.
  void take(const JsonAt& at, const std::string& name, const std::optional<std::string>& objection) {
    if (objection) {
      at.error(*objection);
    } else if (const auto [it, inserted] = taken_.emplace(name, at.path()); !inserted) {
      at.error("the name \"" + name + "\" is taken by " + it->second);
    }
  }

  void read_tune() {
    std::size_t points = 1;
    for (const auto& [name, list] : members("tune")) {
      take(list, name, why_no_define(name));
      std::vector<std::int64_t> values;
      for (const JsonAt& item : list.items()) {
        const std::int64_t value = item.integer();
        if (std::ranges::find(values, value) != values.end()) {
          item.error("the value " + std::to_string(value) + " is there twice");
        }
        values.push_back(value);
      }
      if (values.empty() && list.is(JsonNode::Kind::kArray)) {
        list.error("a tune name needs at least one value");
      }
      points = std::min(points * std::max<std::size_t>(values.size(), 1), kMaxTunePoints + 1);
      plan_.tune.emplace_back(name, std::move(values));
    }
    if (points > kMaxTunePoints) {
      root_["tune"].error("more than " + std::to_string(kMaxTunePoints) + " combinations", "tune fewer values at once");
    }
  }

  void read_defines() {
    for (const auto& [name, value] : members("define")) {
      take(value, name, why_no_define(name));
      plan_.defines.emplace_back(name, read_expression(value));
      if (!plan_.defines.back().second.resident_kernels().empty()) {
        value.error("resident() depends on the compiled kernel and cannot be a macro of it",
                    "pass it as an argument: \"resident(main):i32\"");
      }
    }
  }

  bool is_tuned(const std::string& name) const {
    return std::ranges::any_of(plan_.tune, [&](const auto& entry) { return entry.first == name; });
  }

  void read_select() {
    const JsonAt at = root_["select"];
    if (!at.present()) {
      return;
    }
    std::set<std::string> untuned;
    for (const JsonAt& item : at.items()) {
      if (!item.check(plan_json::kSelect)) {
        continue;
      }
      std::optional<Expression> when;
      if (item["when"].present()) {
        when = read_expression(item["when"]);
      }
      Assignment set;
      for (const auto& [name, value] : item["set"].members()) {
        set[name] = value.integer();
        if (is_tuned(name)) {
          continue;
        }
        if (const auto objection = why_no_define(name)) {
          value.error(*objection);
        } else if (taken_.contains(name)) {
          value.error("the name \"" + name + "\" is taken by " + taken_.at(name));
        }
        untuned.insert(name);
      }
      plan_.select.emplace_back(std::move(when), std::move(set));
    }
    check_select(at, untuned);
  }

  // A name that "tune" does not give a default must be set whichever entry holds.
  void check_select(const JsonAt& at, const std::set<std::string>& untuned) const {
    for (const std::string& name : untuned) {
      const bool everywhere =
          std::ranges::all_of(plan_.select, [&](const auto& entry) { return entry.second.contains(name); });
      if (!everywhere || plan_.select.back().first) {
        at.error("\"" + name + "\" is not in \"tune\" and some case would leave it without a value",
                 "set it in every entry and let the last entry have no \"when\", or add it to \"tune\"");
      }
    }
  }

  void read_workspaces() {
    for (const auto& [name, value] : members("workspaces")) {
      take(value, name, why_no_name(name));
      WorkspaceSpec workspace;
      workspace.name = name;
      if (value.check(plan_json::kWorkspace)) {
        workspace.bytes = read_expression(value["bytes"]);
        workspace.init = static_cast<WorkspaceInit>(value["init"].word(plan_json::kInits, 0));
      }
      plan_.workspaces.push_back(std::move(workspace));
    }
  }

  void read_tensor_maps() {
    for (const auto& [name, value] : members("tensor_maps")) {
      take(value, name, why_no_name(name));
      TensorMapSpec map;
      map.name = name;
      if (value.check(plan_json::kTensorMap)) {
        read_tensor_map(value, map);
      }
      plan_.tensor_maps.push_back(std::move(map));
    }
  }

  void read_kernels() {
    const JsonAt list = root_["kernels"];
    if (!list.present()) {
      return;
    }
    std::set<std::string> ids;
    for (const JsonAt& at : list.items()) {
      KernelSpec kernel;
      if (at.check(plan_json::kKernel)) {
        read_kernel(at, kernel);
        if (!ids.insert(kernel.id).second) {
          at.error("the kernel id \"" + kernel.id + "\" is there twice", "give each launch its own \"id\"");
        }
      }
      plan_.kernels.push_back(std::move(kernel));
    }
    if (plan_.kernels.empty() || plan_.kernels.size() > kMaxKernels) {
      list.error("found " + std::to_string(plan_.kernels.size()) + " kernels, allowed: 1 to " +
                 std::to_string(kMaxKernels));
    }
  }

  void read_kernel(const JsonAt& at, KernelSpec& kernel) {
    kernel.entry = at["name"].string();
    if (at["name"].is(JsonNode::Kind::kString) && !is_identifier(kernel.entry)) {
      at["name"].error("\"" + kernel.entry + "\" is no entry point", "declare it extern \"C\" and give its plain name");
    }
    kernel.id = at["id"].string(kernel.entry);
    if (at["id"].present() && !is_identifier(kernel.id)) {
      at["id"].error("\"" + kernel.id + "\" is no identifier");
    }
    if (at["when"].present()) {
      kernel.when = read_expression(at["when"]);
    }
    read_repeat(at["repeat"], kernel);
    kernel.grid = read_dims(at["grid"], 1);
    kernel.block = read_dims(at["block"], 1);
    kernel.cluster = read_dims(at["cluster"], 0);
    kernel.shared = read_expression(at["shared"]);
    read_args(at["args"], kernel);
    read_after(at["after"], kernel);
    read_launch(at["launch"], kernel);
  }

  void read_repeat(const JsonAt& at, KernelSpec& kernel) {
    if (!at.present()) {
      return;
    }
    const auto entries = at.members();
    if (!at.is(JsonNode::Kind::kObject) || entries.size() != 1) {
      if (at.is(JsonNode::Kind::kObject)) {
        at.error("found " + std::to_string(entries.size()) + " variables, expected one, as in {\"s\": \"SLICES\"}");
      }
      return;
    }
    const auto& [variable, count] = entries[0];
    if (const auto objection = why_no_name(variable)) {
      count.error(*objection);
    } else if (taken_.contains(variable)) {
      count.error("the name \"" + variable + "\" is taken by " + taken_.at(variable));
    }
    kernel.repeat.emplace(variable, read_expression(count));
  }

  std::vector<std::string> kernel_ids() const {
    std::vector<std::string> ids;
    for (const KernelSpec& kernel : plan_.kernels) {
      ids.push_back(kernel.id);
    }
    return ids;
  }

  void check_after() const {
    const std::vector<std::string> ids = kernel_ids();
    for (std::size_t k = 0; k < plan_.kernels.size(); ++k) {
      for (std::size_t i = 0; i < plan_.kernels[k].after.size(); ++i) {
        const AfterText parts = split_after(plan_.kernels[k].after[i]);
        const auto found = std::ranges::find(ids, parts.id);
        const JsonAt at = root_["kernels"].items()[k]["after"].items()[i];
        if (parts.id.empty()) {
          continue;
        }
        if (found == ids.end()) {
          at.error("unknown kernel \"" + parts.id + "\"; known: " + joined(ids), did_you_mean(parts.id, ids));
          continue;
        }
        const auto earlier = static_cast<std::size_t>(found - ids.begin());
        if (earlier > k || (earlier == k && parts.index.empty())) {
          at.error("\"" + plan_.kernels[k].id + "\" waits for \"" + parts.id + "\", which is not launched before it",
                   "a kernel may wait only for kernels that come earlier in the list");
        } else if (!parts.index.empty() && !plan_.kernels[earlier].repeat) {
          at.error("\"" + parts.id + "\" has no \"repeat\", so it has no index");
        }
      }
    }
  }

  void check_resident_in(const JsonAt& at, const std::vector<std::string>& kernels, bool allowed) const {
    const std::vector<std::string> ids = kernel_ids();
    for (const std::string& kernel : kernels) {
      if (!allowed) {
        at.error("resident(" + kernel + ") cannot be used here: it follows from block, cluster and shared");
      } else if (std::ranges::find(ids, kernel) == ids.end()) {
        at.error("resident(" + kernel + ") names no kernel; known: " + joined(ids), did_you_mean(kernel, ids));
      }
    }
  }

  void check_resident_in(const JsonAt& at, const std::vector<Expression>& expressions, bool allowed) const {
    for (std::size_t i = 0; i < expressions.size(); ++i) {
      check_resident_in(at.items()[i], expressions[i].resident_kernels(), allowed);
    }
  }

  void check_resident() const {
    for (std::size_t k = 0; k < plan_.kernels.size(); ++k) {
      const KernelSpec& kernel = plan_.kernels[k];
      const JsonAt at = root_["kernels"].items()[k];
      check_resident_in(at["grid"], kernel.grid, true);
      check_resident_in(at["block"], kernel.block, false);
      check_resident_in(at["cluster"], kernel.cluster, false);
      check_resident_in(at["shared"], kernel.shared.resident_kernels(), false);
      for (std::size_t i = 0; i < kernel.args.size(); ++i) {
        if (kernel.args[i].value) {
          check_resident_in(at["args"].items()[i], kernel.args[i].value->resident_kernels(), true);
        }
      }
    }
    for (const WorkspaceSpec& workspace : plan_.workspaces) {
      check_resident_in(root_["workspaces"][workspace.name]["bytes"], workspace.bytes.resident_kernels(), true);
    }
  }

  JsonAt root_;
  LaunchPlan& plan_;
  std::map<std::string, std::string, std::less<>> taken_;  // name -> path
};

}  // namespace

AfterText split_after(std::string_view text) {
  const std::size_t open = text.find('[');
  const std::string_view id = text.substr(0, open);
  if (!is_identifier(id)) {
    return {};
  }
  if (open == std::string_view::npos) {
    return {std::string(id), ""};
  }
  const std::string_view index = text.substr(open + 1);
  if (index.size() < 2 || index.back() != ']') {
    return {};
  }
  return {std::string(id), std::string(index.substr(0, index.size() - 1))};
}

OrErrors<LaunchPlan> read_plan(std::string_view json, const std::string& file, int first_line) {
  const OrErrors<JsonNode> tree = parse_json_tree(json, file, first_line);
  if (!tree) {
    return std::unexpected(tree.error());
  }
  JsonErrors sink{file, {}};
  LaunchPlan plan;
  plan.json = json;
  PlanReader(JsonAt(*tree, sink), plan).read();
  if (!sink.errors.empty()) {
    return std::unexpected(std::move(sink.errors));
  }
  return plan;
}

}  // namespace kf
