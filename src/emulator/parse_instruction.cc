// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <utility>

#include "parser.h"

namespace kf::emulator {
namespace {

// "ld.shared::cta.v4.f32" -> {"ld", "shared::cta", "v4", "f32"}
std::vector<std::string> split_dots(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('.', begin), text.size());
    if (end > begin) words.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

}  // namespace

void Parser::instruction(PtxFunction& into) {
  PtxInstruction made;
  made.where = where_;
  made.where.ptx_line = lexer_.peek().line;
  if (accept("@")) {
    made.guard_negated = accept("!");
    made.guard = find_register(word());
    if (made.guard < 0 || into.registers[made.guard].bits != 1) fail("'@' needs a predicate register");
  }
  made.text = word();
  if (made.guard < 0 && accept(":")) {
    const auto label = static_cast<std::int32_t>(into.labels.size());
    if (!scopes_[scope_].labels.emplace(made.text, label).second) fail("label '" + made.text + "' appears twice");
    into.labels.push_back(made.text);
    into.label_at.push_back(static_cast<std::int32_t>(into.instructions.size()));
    if (accept(".branchtargets")) {
      do into.branch_targets[label].push_back(use_label(word()));
      while (accept(","));
      expect(";");
    } else if (lexer_.at(".callprototype") || lexer_.at(".calltargets")) {
      skip_statement();
    }
    return;
  }
  made.words = split_dots(made.text);
  if (made.words.empty()) fail("expected an instruction");
  while (!accept(";")) {
    if (!made.operands.empty()) expect(",");
    made.operands.push_back(operand());
    if (made.operands.size() > 64) fail("more than 64 operands");
  }
  into.instructions.push_back(std::move(made));
  if (into.instructions.size() > 2'000'000) fail("more than 2000000 instructions in one function");
}

Operand Parser::operand(std::size_t depth) {
  if (depth > 3) fail("operand nested too deeply");
  Operand made;
  const bool inverted = accept("!");
  const bool negative = !inverted && accept("-");
  if (accept("{") || lexer_.at("(")) {  // {a, b}: a vector; (a, b): parameters of a call
    const bool call = accept("(");
    made.kind = Operand::Kind::kVector;
    while (!accept(call ? ")" : "}")) {
      if (!made.parts.empty()) expect(",");
      made.parts.push_back(operand(depth + 1));
      if (made.parts.size() > 256) fail("more than 256 parts in an operand");
    }
  } else if (accept("[")) {
    made.kind = Operand::Kind::kAddress;
    made.parts.push_back(operand(depth + 1));
    while (accept(",")) made.parts.push_back(operand(depth + 1));
    expect("]");
    made.offset = std::exchange(made.parts[0].offset, 0);
  } else if (lexer_.peek().kind == Token::Kind::kNumber) {
    made = number();
    if (negative && made.kind == Operand::Kind::kInteger) made.bits = 0 - made.bits;
    if (negative && made.kind == Operand::Kind::kFloat32) made.bits ^= 0x8000'0000u;
    if (negative && made.kind == Operand::Kind::kFloat64) made.bits ^= std::uint64_t{1} << 63;
    return made;
  } else {
    made = name_operand();
  }
  made.negated = inverted || negative;
  if (accept("|")) {
    Operand pair;
    pair.kind = Operand::Kind::kPair;
    pair.parts = {std::move(made), operand(depth + 1)};
    return pair;
  }
  return made;
}

Operand Parser::name_operand() {
  Operand made;
  made.name = word();
  if (made.name == "_") return made;
  if (made.name == "WARP_SZ") {
    made.kind = Operand::Kind::kInteger;
    made.bits = 32;
    return made;
  }
  if (const std::int32_t reg = find_register(made.name); reg >= 0) {
    made.kind = Operand::Kind::kRegister;
    made.index = reg;
  } else if (const Name* name = find_name(made.name)) {
    made.kind = Operand::Kind::kVariable;
    made.index = name->index;
  } else {
    made.kind = Operand::Kind::kLabel;  // settled at the end of the function
    made.index = use_label(made.name);
  }
  if (accept("+")) {
    made.offset = integer();
  } else if (lexer_.at("-")) {
    lexer_.next();
    made.offset = -integer();
  }
  return made;
}

}  // namespace kf::emulator
