// SPDX-License-Identifier: Apache-2.0
#include "binder.h"

#include <algorithm>
#include <bit>

namespace kf::emulator {
namespace {

struct TypeRow {
  std::string_view word;
  Type type;
  int bits;
};
constexpr TypeRow kTypes[] = {
    {"pred", Type::kPred, 1},    {"b8", Type::kB8, 8},          {"b16", Type::kB16, 16},
    {"b32", Type::kB32, 32},     {"b64", Type::kB64, 64},       {"b128", Type::kB128, 128},
    {"u8", Type::kU8, 8},        {"u16", Type::kU16, 16},       {"u32", Type::kU32, 32},
    {"u64", Type::kU64, 64},     {"s8", Type::kS8, 8},          {"s16", Type::kS16, 16},
    {"s32", Type::kS32, 32},     {"s64", Type::kS64, 64},       {"u16x2", Type::kU16x2, 32},
    {"s16x2", Type::kS16x2, 32}, {"f16", Type::kF16, 16},       {"f16x2", Type::kF16x2, 32},
    {"bf16", Type::kBf16, 16},   {"bf16x2", Type::kBf16x2, 32}, {"tf32", Type::kTf32, 32},
    {"f32", Type::kF32, 32},     {"f64", Type::kF64, 64},       {"e4m3", Type::kE4m3, 8},
    {"e5m2", Type::kE5m2, 8},    {"e4m3x2", Type::kE4m3x2, 16}, {"e5m2x2", Type::kE5m2x2, 16},
    {"b1", Type::kB1, 1},        {"u2", Type::kU2, 2},          {"s2", Type::kS2, 2},
    {"u4", Type::kU4, 4},        {"s4", Type::kS4, 4},
};

}  // namespace

Type type_from(std::string_view word) {
  for (const TypeRow& row : kTypes)
    if (row.word == word) return row.type;
  return Type::kNone;
}

int bits_of(Type type) {
  for (const TypeRow& row : kTypes)
    if (row.type == type) return row.bits;
  return 0;
}

bool is_signed(Type type) {
  return type >= Type::kS8 && type <= Type::kS64;
}
bool is_integer(Type type) {
  return type >= Type::kB8 && type <= Type::kS64;
}

bool Binder::take(std::string_view word) {
  for (std::size_t i = 1; i < in.words.size(); ++i)
    if (!taken_[i] && in.words[i] == word) return taken_[i] = true;
  return false;
}

bool Binder::take_prefix(std::string_view prefix) {
  for (std::size_t i = 1; i < in.words.size(); ++i)
    if (!taken_[i] && in.words[i].starts_with(prefix)) return taken_[i] = true;
  return false;
}

int Binder::take_one(std::initializer_list<std::string_view> words) {
  int at = 0;
  for (std::string_view word : words) {
    if (take(word)) return at;
    ++at;
  }
  return -1;
}

Type Binder::take_type() {
  for (std::size_t i = 1; i < in.words.size(); ++i)
    if (const Type type = type_from(in.words[i]); !taken_[i] && type != Type::kNone) {
      taken_[i] = true;
      return type;
    }
  return Type::kNone;
}

bool Binder::all_taken() const {
  return std::ranges::all_of(taken_, std::identity());
}

std::string Binder::left_over() const {
  std::string words;
  for (std::size_t i = 0; i < in.words.size(); ++i)
    if (!taken_[i]) words += "." + in.words[i];
  return words;
}

const Operand& Binder::operand(std::size_t n) const {
  if (n >= in.operands.size()) refuse("operand " + std::to_string(n + 1) + " is missing");
  return in.operands[n];
}

int Binder::width(const Operand& operand) {
  return operand.kind == Operand::Kind::kRegister ? places_.reg_bits(operand.index) : 0;
}

Slot Binder::source(const Operand& operand, int bits) {
  const Slot slot = place(operand, bits);
  bool address = false;
  for (const Operand& whole : in.operands)
    address |= whole.kind == Operand::Kind::kAddress && &operand == whole.parts.data();
  uses_.reads.push_back({slot, static_cast<std::uint32_t>(std::max(bits, 16) / 8), address});
  return slot;
}

Slot Binder::place(const Operand& operand, int bits) {
  switch (operand.kind) {
    case Operand::Kind::kRegister:
      if (operand.negated || operand.offset != 0) refuse("arithmetic inside an operand");
      if (places_.reg_bits(operand.index) != bits)
        refuse("operand " + operand.name + " has " + std::to_string(places_.reg_bits(operand.index)) + " bits, " +
               std::to_string(bits) + " are needed");
      return places_.reg(operand.index);
    case Operand::Kind::kInteger:
    case Operand::Kind::kFloat32:
      return places_.constant(operand.bits, bits);
    case Operand::Kind::kFloat64:  // a plain decimal literal takes the type of its instruction
      if (bits == 32)
        return places_.constant(std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<double>(operand.bits))),
                                32);
      if (bits != 64) refuse("a floating-point literal for a type of " + std::to_string(bits) + " bits");
      return places_.constant(operand.bits, bits);
    case Operand::Kind::kVariable:
      return places_.address_value(operand.index, operand.offset, bits);
    case Operand::Kind::kName:
      if (const Slot slot = places_.special(operand.name, bits); slot != kNoSlot) return slot;
      refuse("'" + operand.name + "' is not declared or not supported");
    default:
      refuse("an operand of this form");
  }
}

Slot Binder::dest(const Operand& operand, int bits) {
  if (operand.kind != Operand::Kind::kSink && operand.kind != Operand::Kind::kRegister)
    refuse("the destination is no register");
  const Slot slot = operand.kind == Operand::Kind::kSink ? places_.sink(bits) : place(operand, bits);
  uses_.writes.push_back({slot, static_cast<std::uint32_t>(std::max(bits, 16) / 8), false});
  return slot;
}

std::uint32_t Binder::pred_source(const Operand& operand) {
  if (operand.kind == Operand::Kind::kInteger) return operand.bits != 0 ? kTruePredicate : (kTruePredicate | kNegated);
  if (operand.kind != Operand::Kind::kRegister || places_.reg_bits(operand.index) != 1) refuse("a predicate is needed");
  const std::uint32_t index = places_.reg(operand.index) | (operand.negated ? kNegated : 0);
  uses_.predicate_reads.push_back(index);
  return index;
}

std::uint32_t Binder::pred_dest(const Operand& operand) {
  std::uint32_t index = 0;
  if (operand.kind == Operand::Kind::kSink)
    index = places_.sink(1);
  else if (operand.kind != Operand::Kind::kRegister || places_.reg_bits(operand.index) != 1)
    refuse("a predicate is needed");
  else
    index = places_.reg(operand.index);
  uses_.predicate_writes.push_back(index);
  return index;
}

std::uint64_t Binder::immediate(std::size_t n) const {
  if (operand(n).kind != Operand::Kind::kInteger) refuse("operand " + std::to_string(n + 1) + " must be a constant");
  return operand(n).bits;
}

}  // namespace kf::emulator
