// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "block.h"
#include "warp.h"

namespace kf::emulator {

std::string describe_source(const Launch& launch, const Inst& inst) {
  const SourceNote& note = launch.program->sources[inst.source];
  std::string text;
  if (note.where.line > 0) {
    const auto file = static_cast<std::size_t>(note.where.file);
    std::string name = file < launch.program->files.size() ? launch.program->files[file] : "";
    name = name.substr(name.rfind('/') + 1);
    text = (name.empty() ? "line " : name + ":") + std::to_string(note.where.line) + " (" + note.text + ")";
  } else {
    text = note.text + " (PTX line " + std::to_string(note.where.ptx_line) + ")";
  }
  return text;
}

std::string describe_thread(const Warp& warp, int lane) {
  const auto& shape = warp.launch->shape.block;
  const std::uint32_t thread = warp.index * kLanes + static_cast<std::uint32_t>(lane);
  return "thread (" + std::to_string(thread % shape[0]) + "," + std::to_string(thread / shape[0] % shape[1]) + "," +
         std::to_string(thread / shape[0] / shape[1]) + ")";
}

SourcePlace source_place(const Launch& launch, std::uint32_t source, std::string role) {
  const SourceNote& note = launch.program->sources[source];
  SourcePlace place;
  const auto file = static_cast<std::size_t>(note.where.file);
  if (note.where.line > 0 && file < launch.program->files.size()) {
    const std::string& path = launch.program->files[file];
    place.file = path.substr(path.rfind('/') + 1);
  }
  place.line = note.where.line;
  place.ptx_line = note.where.ptx_line;
  place.instruction = note.text;
  place.role = std::move(role);
  return place;
}

void report(const Warp& warp, const Inst& inst, int lane, Found found) {
  constexpr std::array<const char*, 15> kKinds{"misuse",    "out_of_bounds", "misaligned",        "uninitialised",
                                               "read_only", "race",          "asynchronous_copy", "barrier",
                                               "deadlock",  "mask",          "cluster_peer",      "dependency",
                                               "budget",    "unsupported",   "input_changed"};
  const auto& id = warp.block->ctaid;
  const auto& shape = warp.launch->shape.block;
  const std::uint32_t thread = warp.index * kLanes + static_cast<std::uint32_t>(lane);
  DeviceFault fault;
  fault.kind = found.checker == Checker::kBudget        ? DeviceFault::Kind::kTimeout
               : found.checker == Checker::kUnsupported ? DeviceFault::Kind::kUnsupported
                                                        : DeviceFault::Kind::kChecker;
  fault.detail = "kernel " + warp.launch->kernel->name + ", " + describe_source(*warp.launch, inst) + ", block (" +
                 std::to_string(id[0]) + "," + std::to_string(id[1]) + "," + std::to_string(id[2]) + "), " +
                 describe_thread(warp, lane) + ": " + found.what;
  Finding finding;
  finding.kind = kKinds[static_cast<std::size_t>(found.checker)];
  finding.kernel = warp.launch->kernel->name;
  finding.what = std::move(found.what);
  finding.places = std::move(found.others);
  finding.places.insert(finding.places.begin(), source_place(*warp.launch, inst.source, "here"));
  finding.block = {id[0], id[1], id[2]};
  finding.thread = {thread % shape[0], thread / shape[0] % shape[1], thread / shape[0] / shape[1]};
  fault.finding = std::move(finding);
  throw Stop{std::move(fault)};
}

}  // namespace kf::emulator
