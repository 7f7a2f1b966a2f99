// SPDX-License-Identifier: Apache-2.0
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

void report(const Warp& warp, const Inst& inst, int lane, const std::string& what, DeviceFault::Kind kind) {
  const auto& id = warp.block->ctaid;
  throw Stop{{kind, "kernel " + warp.launch->kernel->name + ", " + describe_source(*warp.launch, inst) + ", block (" +
                        std::to_string(id[0]) + "," + std::to_string(id[1]) + "," + std::to_string(id[2]) + "), " +
                        describe_thread(warp, lane) + ": " + what}};
}

}  // namespace kf::emulator
