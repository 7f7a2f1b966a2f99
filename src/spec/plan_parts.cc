// SPDX-License-Identifier: Apache-2.0
// The parts of a launch plan that stand alone: tensor maps, arguments, waits and launch attributes.
#include "plan_parts.h"

#include <algorithm>

#include "format/nearest.h"
#include "format/plan_json.h"
#include "names.h"
#include "plan_reader.h"
#include "spec_reader.h"

namespace kf {
namespace {

constexpr std::size_t kMaxArgs = 256;

void expect_count(const JsonAt& at, std::size_t found, std::size_t wanted, const std::string& why) {
  if (found != wanted) {
    at.error("found " + std::to_string(found) + " entries, expected " + std::to_string(wanted) + " (" + why + ")");
  }
}

// "x" | "EXPRESSION:type". The last colon counts, because an expression may hold ?: itself.
ArgSpec read_arg(const JsonAt& at) {
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

}  // namespace

std::vector<Expression> read_dims(const JsonAt& at, std::size_t least) {
  std::vector<Expression> list = read_expressions(at);
  if (at.is(JsonNode::Kind::kArray) && (list.size() < least || list.size() > 3)) {
    at.error("found " + std::to_string(list.size()) + " entries, allowed: " + std::to_string(least) +
             " to 3 (x, y, z)");
  }
  return list;
}

void read_tensor_map(const JsonAt& at, TensorMapSpec& map) {
  map.of = at["tensor"].string();
  if (at["dtype"].present()) {
    map.dtype = dtype_from_string(at["dtype"].string());
    if (!map.dtype) {
      at["dtype"].error("unknown dtype " + described(at["dtype"].node()));
    }
  }
  map.offset = read_expression(at["offset"]);
  map.dims = read_expressions(at["dims"]);
  map.strides_bytes = read_expressions(at["strides_bytes"]);
  map.box = read_expressions(at["box"]);
  map.element_strides = read_expressions(at["element_strides"]);
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

void read_args(const JsonAt& at, KernelSpec& kernel) {
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

void read_after(const JsonAt& at, KernelSpec& kernel) {
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

void read_launch(const JsonAt& at, KernelSpec& kernel) {
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

}  // namespace kf
