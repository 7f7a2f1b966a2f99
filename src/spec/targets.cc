// SPDX-License-Identifier: Apache-2.0
// Named targets, from src/spec/targets.json, which is part of the binary and says where its figures come from.
#include <kfactory/device_facts.h>
#include <kfactory/embedded.h>
#include <kfactory/error.h>
#include <kfactory/peak_flops.h>

#include "format/json_tree.h"

namespace kf {
namespace {

constexpr std::string_view kTable = "src/spec/targets.json";

const JsonNode& table() {
  static const JsonNode kRoot = [] {
    OrErrors<JsonNode> read = parse_json_tree(embedded_file(kTable), std::string(kTable));
    if (!read) {
      throw Fatal("the table of targets cannot be read: " + to_string(read.error()));
    }
    return *std::move(read);
  }();
  return kRoot;
}

const JsonNode& in(const JsonNode& object, std::string_view key) {
  const JsonNode* found = object.member(key);
  if (found == nullptr) {
    throw Fatal(json_where(std::string(kTable), object.line, "$") + ": a target has no \"" + std::string(key) + "\"");
  }
  return *found;
}

// The row whose `key` is `name`; null: there is none.
const JsonNode* row(std::string_view list, std::string_view key, std::string_view name) {
  for (const JsonNode& item : in(table(), list).items) {
    if (in(item, key).text == name) {
      return &item;
    }
  }
  return nullptr;
}

DeviceFacts facts_of(const JsonNode& target) {
  const auto whole = [&](std::string_view key) { return in(target, key).integer; };
  const auto count = [&](std::string_view key) { return static_cast<int>(in(target, key).integer); };
  const auto rate = [&](std::string_view key) { return in(target, key).number; };
  DeviceFacts facts;
  facts.kind = "none";
  facts.name = in(target, "full_name").text;
  facts.arch = in(target, "arch").text;
  facts.sm_count = count("sm_count");
  facts.max_threads_per_sm = count("max_threads_per_sm");
  facts.max_blocks_per_sm = count("max_blocks_per_sm");
  facts.max_cluster = count("max_cluster");
  facts.shared_per_block = whole("shared_per_block");
  facts.shared_per_sm = whole("shared_per_sm");
  facts.l2_bytes = whole("l2_bytes");
  facts.memory_bytes = whole("memory_bytes");
  facts.dram_bytes_per_second = rate("dram_bytes_per_second");
  facts.fp32_flops_per_second = rate("fp32_flops_per_second");
  facts.tensor_flops_per_second = rate("tensor_flops_per_second");
  facts.sm_hertz = rate("sm_hertz");
  facts.l2_bytes_per_clock = rate("l2_bytes_per_clock");
  facts.launch_nanoseconds = rate("launch_nanoseconds");
  if (const JsonNode* slots = target.member("cluster_slots")) {
    for (const auto& [size, clusters] : slots->members) {
      facts.cluster_slots[std::stoi(size)] = static_cast<int>(clusters.integer);
    }
  }
  facts.source =
      "table: limits: " + in(in(table(), "sources"), "guide").text + "; figures: " + in(target, "source").text;
  return facts;
}

}  // namespace

std::optional<DeviceFacts> named_target(std::string_view name) {
  const JsonNode* arch = row("architectures", "arch", name);
  const JsonNode* target = row("targets", "name", arch != nullptr ? in(*arch, "target").text : name);
  if (target == nullptr) {
    return std::nullopt;
  }
  DeviceFacts facts = facts_of(*target);
  if (arch != nullptr) {
    facts.arch = name;  // "sm_90" asks for code without the features of sm_90a
    if (const JsonNode* note = arch->member("source")) {
      facts.source += "; " + note->text;
      facts.shared_per_block = in(*arch, "shared_per_block").integer;
      facts.shared_per_sm = in(*arch, "shared_per_sm").integer;
    }
  }
  return facts;
}

std::optional<PeakFlops> peak_flops(const DeviceFacts& facts) {
  const JsonNode* arch = row("architectures", "arch", facts.arch);
  if (arch == nullptr || arch->member("source") != nullptr) {  // with a note: another architecture's chip stands in
    return std::nullopt;
  }
  const JsonNode& target = *row("targets", "name", in(*arch, "target").text);
  const double fp32 = in(target, "fp32_flops_per_second").number;
  const double scale = facts.fp32_flops_per_second > 0 ? facts.fp32_flops_per_second / fp32 : 1;
  return PeakFlops{scale * in(target, "peak_flops_of_16_bits").number,
                   scale * in(target, "peak_flops_of_the_narrowest").number};
}

std::vector<std::string> target_names() {
  std::vector<std::string> names;
  for (const JsonNode& target : in(table(), "targets").items) {
    names.push_back(in(target, "name").text);
  }
  for (const JsonNode& arch : in(table(), "architectures").items) {
    names.push_back(in(arch, "arch").text);
  }
  return names;
}

}  // namespace kf
