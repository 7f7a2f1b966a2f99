// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <charconv>
#include <cstdlib>

#include "parser.h"

namespace kf::emulator {

int type_bits(std::string_view type) {
  static constexpr std::pair<std::string_view, int> kTypes[] = {
      {".pred", 1}, {".b8", 8},     {".u8", 8},    {".s8", 8},      {".b16", 16},   {".u16", 16},
      {".s16", 16}, {".f16", 16},   {".bf16", 16}, {".b32", 32},    {".u32", 32},   {".s32", 32},
      {".f32", 32}, {".f16x2", 32}, {".tf32", 32}, {".bf16x2", 32}, {".u16x2", 32}, {".s16x2", 32},
      {".b64", 64}, {".u64", 64},   {".s64", 64},  {".f64", 64},    {".b128", 128},
  };
  for (const auto& [name, bits] : kTypes)
    if (name == type) return bits;
  return 0;
}

std::int64_t Parser::integer() {
  const bool negative = accept("-");
  const Operand value = number();
  if (value.kind != Operand::Kind::kInteger) fail("expected an integer");
  return static_cast<std::int64_t>(negative ? 0 - value.bits : value.bits);
}

Operand Parser::number() {
  if (lexer_.peek().kind != Token::Kind::kNumber)
    fail("expected a number, found '" + std::string(lexer_.peek().text.substr(0, 40)) + "'");
  const std::string text(lexer_.peek().text);
  Operand made;
  made.kind = Operand::Kind::kInteger;
  auto read = [&](std::size_t skip, int base) {
    std::size_t end = text.size();
    while (end > skip + 1 && (text[end - 1] == 'U' || text[end - 1] == 'u')) --end;
    const auto [stop, error] = std::from_chars(text.data() + skip, text.data() + end, made.bits, base);
    if (error != std::errc() || stop != text.data() + end) fail("'" + text.substr(0, 40) + "' is no number");
  };
  const char second = text.size() > 1 ? text[1] : '\0';
  if (text[0] == '0' && (second == 'f' || second == 'F') && text.size() == 10) {
    read(2, 16);
    made.kind = Operand::Kind::kFloat32;
  } else if (text[0] == '0' && (second == 'd' || second == 'D') && text.size() == 18) {
    read(2, 16);
    made.kind = Operand::Kind::kFloat64;
  } else if (text[0] == '0' && (second == 'x' || second == 'X')) {
    read(2, 16);
  } else if (text[0] == '0' && (second == 'b' || second == 'B')) {
    read(2, 2);
  } else if (text.find('.') != std::string::npos) {
    char* stop = nullptr;
    made.bits = std::bit_cast<std::uint64_t>(std::strtod(text.c_str(), &stop));
    if (stop != text.c_str() + text.size()) fail("'" + text.substr(0, 40) + "' is no number");
    made.kind = Operand::Kind::kFloat64;
  } else if (text[0] == '0' && text.size() > 1 && second >= '0' && second <= '7') {
    read(1, 8);
  } else {
    read(0, 10);
  }
  lexer_.next();
  return made;
}

void Parser::registers(PtxFunction& into) {
  std::string type = word();
  if (type == ".v2" || type == ".v4") fail("vector registers are not supported");
  const int bits = type_bits(type);
  if (bits == 0 || bits == 8) fail("registers of type " + type + " are not supported");
  do {
    const std::string name = word();
    const auto first = static_cast<std::int32_t>(into.registers.size());
    std::int64_t count = 1;
    if (accept("<")) {
      count = integer();
      expect(">");
      if (count < 0 || count > 200'000) fail("'" + name + "': too many registers");
      scopes_[scope_].families[name] = {first, static_cast<std::int32_t>(count)};
      for (std::int64_t i = 0; i < count; ++i) into.registers.push_back({name + std::to_string(i), bits});
    } else {
      scopes_[scope_].names[name] = {Name::Kind::kRegister, first};
      into.registers.push_back({name, bits});
    }
    if (into.registers.size() > 400'000) fail("more than 400000 registers in one function");
  } while (accept(","));
  expect(";");
}

// .align 4 .ptr .global .b8 name[16][2] = {...}: one variable, without its ';'.
std::int32_t Parser::variable(Space space, bool external) {
  Variable made;
  made.space = space;
  made.external = external;
  int bits = 0, lanes = 1;
  bool is_float = false;
  while (lexer_.peek().kind == Token::Kind::kWord && lexer_.peek().text.starts_with(".")) {
    const std::string name = word();
    if (name == ".align") {
      made.align = integer();
      if (made.align <= 0 || made.align > 4096 || !std::has_single_bit(static_cast<std::uint64_t>(made.align)))
        fail(".align: a power of two up to 4096 is needed");
    } else if (const int found = type_bits(name); found > 1) {
      bits = found;
      is_float = name == ".f32" || name == ".f64";
    } else if (name == ".v2" || name == ".v4") {
      lanes = name[2] - '0';
    } else if (name == ".attribute") {
      expect("(");
      while (!accept(")")) {
        if (lexer_.peek().kind == Token::Kind::kEnd) fail("missing ')'");
        lexer_.next();
      }
    } else if (name != ".ptr" && name != ".global" && name != ".const" && name != ".shared" && name != ".local") {
      fail("'" + name + "' in a declaration is not supported");
    }
  }
  if (bits == 0) fail("a declaration without a type");
  if (lexer_.peek().kind == Token::Kind::kWord) made.name = word();
  std::int64_t elements = lanes;
  while (accept("[")) {
    const std::int64_t extent = lexer_.at("]") ? 0 : integer();
    expect("]");
    if (extent < 0 || extent > (std::int64_t{1} << 30) || elements * extent > (std::int64_t{1} << 30))
      fail("'" + made.name + "' is larger than 1 GiB");
    elements *= extent;
  }
  made.bytes = elements * bits / 8;
  made.align = std::max<std::int64_t>(made.align, std::int64_t{bits} * lanes / 8);
  if (accept("=")) {
    initializer(made, bits / 8, is_float);
    if (made.bytes == 0) made.bytes = static_cast<std::int64_t>(made.init.bytes.size());
    if (static_cast<std::int64_t>(made.init.bytes.size()) > made.bytes) fail("'" + made.name + "': too many values");
  }
  const auto index = static_cast<std::int32_t>(module_.variables.size());
  if (!made.name.empty()) scopes_[scope_].names[made.name] = {Name::Kind::kVariable, index};
  module_.variables.push_back(std::move(made));
  return index;
}

void Parser::declare_variables(Space space, bool external) {
  do variable(space, external);
  while (accept(","));
  expect(";");
}

void Parser::initializer(Variable& into, int element_bytes, bool is_float, std::size_t depth) {
  if (depth > 8) fail("initialiser nested too deeply");
  if (accept("{")) {
    while (!accept("}")) {
      initializer(into, element_bytes, is_float, depth + 1);
      if (!lexer_.at("}")) expect(",");
    }
    return;
  }
  std::uint64_t bits = 0;
  if (lexer_.peek().kind == Token::Kind::kWord) {
    Initializer::Patch patch;
    patch.at = static_cast<std::int64_t>(into.init.bytes.size());
    patch.symbol = word();
    if (patch.symbol == "generic") {
      expect("(");
      patch.symbol = word();
      expect(")");
      patch.generic = true;
    } else if (patch.symbol == "mask") {
      fail("mask() in an initialiser is not supported");
    }
    if (accept("+")) patch.addend = integer();
    if (element_bytes != 8) fail("an address in an initialiser of elements that are not 64 bits wide");
    into.init.patches.push_back(std::move(patch));
  } else {
    const bool negative = accept("-");
    const Operand value = number();
    bits = value.bits;
    if (value.kind == Operand::Kind::kFloat64 && element_bytes == 4)
      bits = std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<double>(bits)));
    if (negative && value.kind == Operand::Kind::kInteger) bits = 0 - bits;
    if (negative && value.kind != Operand::Kind::kInteger) bits ^= std::uint64_t{1} << (8 * element_bytes - 1);
    if (is_float && value.kind == Operand::Kind::kInteger && bits != 0)
      fail("an integer initialises a floating-point variable");
  }
  for (int byte = 0; byte < element_bytes; ++byte)
    into.init.bytes.push_back(byte < 8 ? static_cast<std::uint8_t>(bits >> (8 * byte)) : std::uint8_t{0});
}

}  // namespace kf::emulator
