// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "binder.h"

namespace kf::emulator {
namespace {

bool is_one_of(std::string_view op, std::initializer_list<std::string_view> list) {
  return std::ranges::find(list, op) != list.end();
}

// Integers to integers, whose bits are cut off or extended.
bool converts_integers(const PtxInstruction& in) {
  if (in.words[0] != "cvt" || in.has("sat") || in.has("pack") || in.words.size() != 3) return false;
  return is_integer(type_from(in.words[1])) && is_integer(type_from(in.words[2]));
}
bool is_clock(const PtxInstruction& in) {
  return in.words[0] == "mov" && in.operands.size() == 2 && in.operands[1].kind == Operand::Kind::kName &&
         (in.operands[1].name.starts_with("%clock") || in.operands[1].name.starts_with("%globaltimer"));
}
bool is_small(const PtxInstruction& mma) {
  return std::ranges::any_of(mma.words, [](const std::string& word) { return word.starts_with("m8n8"); });
}
bool is_packed(std::string_view type) {
  return is_one_of(type, {"f16x2", "bf16x2", "u16x2", "s16x2"});
}
bool touches_memory(std::string_view op) {
  return is_one_of(op, {"atom", "red", "cp", "mbarrier", "stmatrix", "mapa", "alloca", "stackrestore", "barrier", "bar",
                        "discard", "prefetch", "applypriority", "wmma"});
}

}  // namespace

Spread spread_of(const PtxInstruction& in) {
  const std::string_view op = in.words[0], last = in.words.back();
  if (op == "ld" || op == "ldu" || op == "ldmatrix" || is_clock(in)) return Spread::kLoad;
  if (op == "st") return in.has("async") ? Spread::kUse : Spread::kStore;
  if (op == "wmma" && in.has("mma")) return Spread::kWarp;
  if (touches_memory(op)) return Spread::kUse;
  if (op == "mma") return is_small(in) ? Spread::kWarp : Spread::kProduct;
  if (op == "movmatrix" || op == "vote" || op == "match" || op == "redux") return Spread::kWarp;
  if (op == "shfl") return Spread::kShuffle;
  if (op == "mov" && last == "pred") return Spread::kCombine;
  if (op == "mov" || op == "selp" || converts_integers(in)) return last == "pred" ? Spread::kCombine : Spread::kCopy;
  if (op == "shl" || op == "shr" || op == "bfe") return Spread::kShift;
  if (op == "prmt") return Spread::kPermute;
  if (op == "and") return Spread::kAnd;
  if (op == "or") return Spread::kOr;
  if (is_packed(last) && is_one_of(op, {"add", "sub", "mul", "fma", "min", "max", "abs", "neg"}))
    return Spread::kHalves;
  return Spread::kCombine;
}

}  // namespace kf::emulator
