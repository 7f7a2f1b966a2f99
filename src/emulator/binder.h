// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "program.h"
#include "ptx.h"
#include "undefined.h"

namespace kf::emulator {

enum class Type : std::uint8_t {
  kNone,
  kPred,
  kB8,
  kB16,
  kB32,
  kB64,
  kB128,
  kU8,
  kU16,
  kU32,
  kU64,
  kS8,
  kS16,
  kS32,
  kS64,
  kU16x2,
  kS16x2,
  kF16,
  kF16x2,
  kBf16,
  kBf16x2,
  kTf32,
  kF32,
  kF64,
  kE4m3,
  kE5m2,
  kE4m3x2,
  kE5m2x2,
  kB1,
  kU2,
  kS2,
  kU4,
  kS4,
};
Type type_from(std::string_view word);  // kNone: not a type
int bits_of(Type type);
bool is_signed(Type type);   // signed integers
bool is_integer(Type type);  // b, u and s types; not packed ones

// Why an instruction is outside the supported subset; turned into a kUnsupported instruction.
struct Unsupported {
  std::string why;
};

// Gives places in the register file to operands; implemented by the decoder.
struct Places {
  virtual ~Places() = default;
  virtual Slot reg(std::int32_t index) = 0;  // of the current function
  virtual int reg_bits(std::int32_t index) = 0;
  virtual Slot constant(std::uint64_t bits, int width_bits) = 0;
  virtual Slot special(std::string_view name, int width_bits) = 0;  // kNoSlot: no such register
  virtual std::uint64_t address_of(std::int32_t variable) = 0;      // in the variable's own space
  virtual const Variable& variable(std::int32_t index) = 0;
  virtual bool in_frame(std::int32_t variable) = 0;  // call parameters live in local memory
  // The address plus an offset, as a value.
  virtual Slot address_value(std::int32_t variable, std::int64_t offset, int width_bits) = 0;
  virtual Slot sink(int bits) = 0;  // written, never read
  virtual std::uint32_t add_extras(std::initializer_list<std::uint32_t> values) = 0;
};

// One instruction on its way to an Inst. A family takes the words it understands; what nobody took makes
// the instruction unsupported, so that a modifier is never ignored by accident.
class Binder {
 public:
  Binder(const PtxInstruction& instruction, Places& places)
      : in(instruction), places_(places), taken_(instruction.words.size()) {
    taken_[0] = true;
  }

  const PtxInstruction& in;
  Inst out;

  std::string_view op() const { return in.words[0]; }
  bool take(std::string_view word);  // true when it is there
  // The one of `words` that is there (position in the list), or -1.
  int take_one(std::initializer_list<std::string_view> words);
  Type take_type();                           // first type word not yet taken; kNone: none
  bool take_prefix(std::string_view prefix);  // any word that starts so
  void take_rest() { taken_.assign(taken_.size(), true); }
  bool all_taken() const;
  std::string left_over() const;

  std::size_t operands() const { return in.operands.size(); }
  const Operand& operand(std::size_t n) const;
  Slot source(std::size_t n, int bits) { return source(operand(n), bits); }
  Slot source(const Operand& operand, int bits);
  Slot dest(std::size_t n, int bits) { return dest(operand(n), bits); }
  Slot dest(const Operand& operand, int bits);
  int width(const Operand& operand);                  // bits of a register; 0 for everything else
  std::uint32_t pred_source(const Operand& operand);  // index, kNegated set for `!`
  std::uint32_t pred_dest(const Operand& operand);
  std::uint64_t immediate(std::size_t n) const;  // refuses registers
  bool is_immediate(std::size_t n) const { return operand(n).kind == Operand::Kind::kInteger; }
  std::uint32_t extras(std::initializer_list<std::uint32_t> values) { return places_.add_extras(values); }
  Places& places() { return places_; }
  const Uses& uses() const { return uses_; }
  [[noreturn]] void refuse(const std::string& why) const { throw Unsupported{why}; }

 private:
  Slot place(const Operand& operand, int bits);

  Places& places_;
  std::vector<bool> taken_;
  Uses uses_;
};

inline constexpr std::uint32_t kNegated = 0x8000'0000u;  // in a predicate source
inline constexpr std::uint32_t kTruePredicate = 0;       // index 0 holds true for all lanes

// How its results depend on its sources.
Spread spread_of(const PtxInstruction& instruction);

// A family fills Binder::out and returns true, or returns false when the opcode is not its own.
using Family = bool (*)(Binder&);
bool bind_carry(Binder& b);    // addc, subc, madc, .cc
bool bind_integer(Binder& b);  // add .. rem, mad, sad
bool bind_narrow(Binder& b);   // mul24, mad24, dp4a, dp2a
bool bind_bits(Binder& b);     // and .. prmt, bfe, shifts
bool bind_float(Binder& b);    // f32, f64
bool bind_half(Binder& b);     // f16, bf16 and their pairs
bool bind_special(Binder& b);  // rcp .. tanh approximations
bool bind_compare(Binder& b);  // setp, set, selp, slct, predicate logic
bool bind_convert(Binder& b);  // cvt
bool bind_move(Binder& b);     // mov, cvta, isspacep
bool bind_memory(Binder& b);   // ld, st, prefetch ...
bool bind_atomic(Binder& b);   // atom, red, fences
bool bind_warp(Binder& b);     // shfl, vote, match, redux, activemask, elect, bar.warp.sync
bool bind_barrier(Binder& b);  // bar, barrier
bool bind_copy(Binder& b);     // cp.async and its groups, cp.async.bulk, st.async
bool bind_mbarrier(Binder& b);
bool bind_cluster(Binder& b);    // mapa, getctarank, barrier.cluster
bool bind_matrix(Binder& b);     // ldmatrix, stmatrix, movmatrix
bool bind_mma(Binder& b);        // mma.sync
bool bind_wmma(Binder& b);       // wmma.load, .mma, .store
bool bind_registers(Binder& b);  // setmaxnreg
bool bind_stack(Binder& b);      // alloca, stacksave, stackrestore

}  // namespace kf::emulator
