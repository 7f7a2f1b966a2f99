// SPDX-License-Identifier: Apache-2.0
#include "plan_reader.h"

#include <algorithm>
#include <map>
#include <set>

#include "format/nearest.h"
#include "format/plan_json.h"
#include "names.h"
#include "spec_reader.h"

namespace kf {
namespace {

constexpr std::size_t kMaxTunePoints = 1024;
constexpr std::size_t kMaxKernels = 64;
constexpr std::size_t kMaxArgs = 256;

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

  static std::vector<Expression> expressions(const JsonAt& at) {
    std::vector<Expression> list;
    if (at.present()) {
      for (const JsonAt& item : at.items()) {
        list.push_back(read_expression(item));
      }
    }
    return list;
  }

  static void expect_count(const JsonAt& at, std::size_t found, std::size_t wanted, const std::string& why) {
    if (found != wanted) {
      at.error("found " + std::to_string(found) + " entries, expected " + std::to_string(wanted) + " (" + why + ")");
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

  static void read_tensor_map(const JsonAt& at, TensorMapSpec& map) {
    map.of = at["tensor"].string();
    if (at["dtype"].present()) {
      map.dtype = dtype_from_string(at["dtype"].string());
      if (!map.dtype) {
        at["dtype"].error("unknown dtype " + described(at["dtype"].node()));
      }
    }
    map.offset = read_expression(at["offset"]);
    map.dims = expressions(at["dims"]);
    map.strides_bytes = expressions(at["strides_bytes"]);
    map.box = expressions(at["box"]);
    map.element_strides = expressions(at["element_strides"]);
    const std::size_t rank = map.dims.size();
    if (at["dims"].is(JsonNode::Kind::kArray) && (rank < 1 || rank > 5)) {
      at["dims"].error("found " + std::to_string(rank) + " dims, allowed: 1 to 5, innermost first");
    }
    expect_count(at["strides_bytes"].present() ? at["strides_bytes"] : at, map.strides_bytes.size(),
                 std::max<std::size_t>(rank, 1) - 1, "one stride for each dim but the innermost, in bytes");
    expect_count(at["box"].present() ? at["box"] : at, map.box.size(), rank, "one for each dim");
    if (at["element_strides"].present()) {
      expect_count(at["element_strides"], map.element_strides.size(), rank, "one for each dim");
    } else {
      map.element_strides.assign(rank, Expression::constant(1));
    }
    const std::size_t interleave = at["interleave"].word(plan_json::kInterleaves, 0);
    map.interleave_16b = interleave == 1;
    map.interleave_32b = interleave == 2;
    map.swizzle = static_cast<Swizzle>(at["swizzle"].word(plan_json::kSwizzles, 0));
    map.l2_promotion = static_cast<L2Promotion>(at["l2_promotion"].word(plan_json::kL2Promotions, 0));
    map.oob_nan = at["oob"].word(plan_json::kOutOfBounds, 0) == 1;
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
    kernel.grid = dims(at["grid"], 1);
    kernel.block = dims(at["block"], 1);
    kernel.cluster = dims(at["cluster"], 0);
    kernel.shared = read_expression(at["shared"]);
    read_args(at["args"], kernel);
    read_after(at["after"], kernel);
    read_launch(at["launch"], kernel);
  }

  static std::vector<Expression> dims(const JsonAt& at, std::size_t least) {
    std::vector<Expression> list = expressions(at);
    if (at.is(JsonNode::Kind::kArray) && (list.size() < least || list.size() > 3)) {
      at.error("found " + std::to_string(list.size()) + " entries, allowed: " + std::to_string(least) +
               " to 3 (x, y, z)");
    }
    return list;
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

  static void read_args(const JsonAt& at, KernelSpec& kernel) {
    if (!at.present()) {
      return;
    }
    for (const JsonAt& item : at.items()) {
      kernel.args.push_back(read_arg(item));
    }
    if (kernel.args.size() > kMaxArgs) {
      at.error("found " + std::to_string(kernel.args.size()) + " arguments, at most " + std::to_string(kMaxArgs) +
               " are allowed");
    }
  }

  // "x" | "EXPRESSION:type". The last colon counts, because an expression may hold ?: itself.
  static ArgSpec read_arg(const JsonAt& at) {
    ArgSpec arg;
    arg.text = at.string();
    const std::size_t colon = arg.text.rfind(':');
    const std::string head = arg.text.substr(0, colon);
    const std::string tail = colon == std::string::npos ? "" : arg.text.substr(colon + 1);
    const std::vector<std::string> types(plan_json::kArgTypes.begin(), plan_json::kArgTypes.end());
    const auto trimmed = [](std::string_view text) {
      const std::size_t first = text.find_first_not_of(' ');
      const std::size_t last = text.find_last_not_of(' ');
      return first == std::string_view::npos ? "" : std::string(text.substr(first, last - first + 1));
    };
    arg.type = trimmed(tail);
    if (colon == std::string::npos && is_identifier(arg.text)) {
      arg.name = arg.text;
      return arg;
    }
    if (std::ranges::find(types, arg.type) == types.end()) {
      if (at.is(JsonNode::Kind::kString)) {
        at.error("found \"" + arg.text +
                     "\", expected the name of a tensor, workspace, tensor map or scalar, or "
                     "EXPRESSION:TYPE, as in \"M:i32\"; types: " +
                     joined(types),
                 did_you_mean(arg.type, types));
      }
      arg.type.clear();
      return arg;
    }
    OrError<Expression> value = Expression::parse(head, at.where());
    if (!value) {
      at.error(value.error().what, value.error().hint);
      return arg;
    }
    arg.value = *value;
    arg.name = is_identifier(trimmed(head)) ? trimmed(head) : "";
    return arg;
  }

  static void read_after(const JsonAt& at, KernelSpec& kernel) {
    kernel.after_given = at.present();
    if (!at.present()) {
      return;
    }
    for (const JsonAt& item : at.items()) {
      kernel.after.push_back(item.string());
      const AfterText parts = split_after(kernel.after.back());
      if (item.is(JsonNode::Kind::kString) && parts.id.empty()) {
        item.error("found \"" + kernel.after.back() + "\", expected a kernel's id, as in \"k\" or \"k[s-1]\"");
      } else if (!parts.index.empty()) {
        const OrError<Expression> index = Expression::parse(parts.index, item.where());
        if (!index) {
          item.error("in the index of \"" + kernel.after.back() + "\": " + index.error().what, index.error().hint);
        }
      }
    }
  }

  static void read_launch(const JsonAt& at, KernelSpec& kernel) {
    if (!at.present() || !at.check(plan_json::kLaunch)) {
      return;
    }
    kernel.cooperative = at["cooperative"].boolean(false);
    kernel.pdl = at["pdl"].boolean(false);
    kernel.cluster_policy = plan_json::kClusterPolicies[at["cluster_policy"].word(plan_json::kClusterPolicies, 0)];
    const JsonAt carveout = at["carveout"];
    if (carveout.is(JsonNode::Kind::kInteger)) {
      kernel.carveout = static_cast<int>(carveout.integer(0, 100));
    } else if (carveout.present() && !(carveout.is(JsonNode::Kind::kString) && carveout.node().text == "default")) {
      carveout.error("found " + described(carveout.node()) + ", allowed: \"default\" or 0 to 100 (percent)");
    }
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
