// SPDX-License-Identifier: Apache-2.0
// atom, red, fences: PTX ISA 9.0 sections 9.7.13. Lanes of one warp act in lane order; every atomic is
// stronger than its qualifiers ask for.
#include <algorithm>
#include <cstring>

#include "access.h"
#include "floating.h"
#include "lanes.h"

namespace kf::emulator {
namespace {

enum Operation : std::uint8_t { kAnd, kOr, kXor, kExch, kCas, kAdd, kInc, kDec, kMin, kMax };

using H = std::uint16_t;
H half_op(H a, H b, Operation op, bool bf) {
  auto wide = [bf](H x) { return bf ? bfloat_to_float(x) : half_to_float(x); };
  const float x = wide(a), y = wide(b);
  if (op == kAdd) return bf ? float_to_bfloat(x + y) : float_to_half(x + y);
  if (x != x && y != y) return kNan16;
  if (x != x) return b;
  if (y != y) return a;
  const bool less = x < y || (x == y && (a & 0x8000) != 0);
  return less == (op == kMin) ? a : b;
}

template <class T>
T integer_op(T old, T b, T c, Operation op) {
  switch (op) {
    case kAnd:
      return T(old & b);
    case kOr:
      return T(old | b);
    case kXor:
      return T(old ^ b);
    case kExch:
      return b;
    case kCas:
      return old == b ? c : old;
    case kAdd:
      return T(std::make_unsigned_t<T>(old) + std::make_unsigned_t<T>(b));
    case kInc:
      return old >= b ? T(0) : T(old + 1);
    case kDec:
      return old == 0 || old > b ? b : T(old - 1);
    case kMin:
      return std::min(old, b);
    default:
      return std::max(old, b);
  }
}

std::uint64_t apply(std::uint64_t old, std::uint64_t b, std::uint64_t c, Operation op, Type type, bool shared_space) {
  auto lo = [](std::uint64_t x) { return static_cast<H>(x); };
  auto hi = [](std::uint64_t x) { return static_cast<H>(x >> 16); };
  switch (type) {
    case Type::kB16:
    case Type::kU16:
      return integer_op<std::uint16_t>(lo(old), lo(b), lo(c), op);
    case Type::kS32:
      return static_cast<std::uint32_t>(
          integer_op<std::int32_t>(std::int32_t(old), std::int32_t(b), std::int32_t(c), op));
    case Type::kS64:
      return static_cast<std::uint64_t>(
          integer_op<std::int64_t>(std::int64_t(old), std::int64_t(b), std::int64_t(c), op));
    case Type::kB64:
    case Type::kU64:
      return integer_op<std::uint64_t>(old, b, c, op);
    case Type::kF64:
      return std::bit_cast<std::uint64_t>(std::bit_cast<double>(old) + std::bit_cast<double>(b));
    case Type::kF32: {  // global atomics flush subnormals, shared ones keep them
      float x = float_of_bits(std::uint32_t(old)), y = float_of_bits(std::uint32_t(b));
      if (!shared_space) x = flush(x), y = flush(y);
      const float sum = canonical(x + y);
      return bits_of_float(shared_space ? sum : flush(sum));
    }
    case Type::kF16:
      return half_op(lo(old), lo(b), op, false);
    case Type::kBf16:
      return half_op(lo(old), lo(b), op, true);
    case Type::kF16x2:
    case Type::kBf16x2: {
      const bool bf = type == Type::kBf16x2;
      return half_op(lo(old), lo(b), op, bf) | std::uint64_t{half_op(hi(old), hi(b), op, bf)} << 16;
    }
    default:
      return integer_op<std::uint32_t>(std::uint32_t(old), std::uint32_t(b), std::uint32_t(c), op);
  }
}

// a: address; imm: offset; mode: Space | narrow << 7; width: type; extra list: operation, elements, register
// bytes, then for each element slots of d, b, c.
void atomic(Warp& w, const Inst& i, Mask lanes) {
  const std::uint32_t* list = w.launch->program->extras.data() + i.extra;
  const auto op = static_cast<Operation>(list[0]);
  const std::uint32_t elements = list[1], bytes = list[2];
  const auto type = static_cast<Type>(i.width);
  const auto space = static_cast<Space>(i.mode & 0x7f);
  for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
    const int l = std::countr_zero(rest);
    const std::uint64_t at = address_of(w, i.a, (i.mode & 0x80) != 0, i.imm, l);
    std::byte* place = resolve(w, i, l, at, bytes * elements, space, Access::kAtomic);
    const bool shared_space = space == Space::kShared || at - kSharedWindow < kWindowBytes;
    for (std::uint32_t k = 0; k < elements; ++k) {
      const std::uint32_t* slots = list + 3 + 3 * k;
      std::uint64_t old = 0, b = 0, c = 0;
      std::memcpy(&old, place + k * bytes, bytes);
      std::memcpy(&b, w.regs + slots[1] + static_cast<std::size_t>(l) * bytes, bytes);
      if (slots[2] != kNoSlot) std::memcpy(&c, w.regs + slots[2] + static_cast<std::size_t>(l) * bytes, bytes);
      const std::uint64_t next = apply(old, b, c, op, type, shared_space);
      std::memcpy(place + k * bytes, &next, bytes);
      if (slots[0] != kNoSlot) std::memcpy(w.regs + slots[0] + static_cast<std::size_t>(l) * bytes, &old, bytes);
    }
  }
  w.launch->counters.atomics += static_cast<std::uint64_t>(std::popcount(lanes));
}

struct Wide {
  std::uint64_t half[2];
  bool operator==(const Wide&) const = default;
};
void atomic128(Warp& w, const Inst& i, Mask lanes) {
  const std::uint32_t* list = w.launch->program->extras.data() + i.extra;
  for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
    const int l = std::countr_zero(rest);
    const std::uint64_t at = address_of(w, i.a, (i.mode & 0x80) != 0, i.imm, l);
    std::byte* place = resolve(w, i, l, at, 16, static_cast<Space>(i.mode & 0x7f), Access::kAtomic);
    Wide old;
    std::memcpy(&old, place, 16);
    const Wide b = w.reg<Wide>(list[4])[l];
    if (list[0] == kExch)
      std::memcpy(place, &b, 16);
    else if (old == b)
      std::memcpy(place, &w.reg<Wide>(list[5])[l], 16);
    if (list[3] != kNoSlot) w.reg<Wide>(list[3])[l] = old;
  }
}

bool allowed(Operation op, Type type) {
  const int bits = bits_of(type);
  switch (type) {
    case Type::kB128:
      return op == kExch || op == kCas;
    case Type::kB16:
    case Type::kU16:
      return op == kCas || op == kExch;
    case Type::kF64:
    case Type::kF32:
      return op == kAdd;
    case Type::kF16:
    case Type::kBf16:
    case Type::kF16x2:
    case Type::kBf16x2:
      return op == kAdd || op == kMin || op == kMax;
    case Type::kB32:
    case Type::kB64:
      return op <= kCas;
    case Type::kU32:
      return true;
    case Type::kU64:
      return op != kInc && op != kDec;
    default:
      return is_signed(type) && bits >= 32 && (op == kAdd || op == kMin || op == kMax || op <= kXor);
  }
}

bool bind_update(Binder& b, bool returns) {
  const int op = b.take_one({"and", "or", "xor", "exch", "cas", "add", "inc", "dec", "min", "max"});
  take_order_words(b);
  take_cache_words(b);
  b.take("noftz");
  const std::size_t elements = b.take("v2") ? 2 : b.take("v4") ? 4 : b.take("v8") ? 8 : 1;
  const Type type = b.take_type();
  const std::size_t first = returns ? 1 : 0;
  const Address address = bind_address(b, b.operand(first));
  if (op < 0 || !allowed(static_cast<Operation>(op), type)) return false;
  const int bits = bits_of(type);
  auto part = [&](const Operand& operand, std::size_t k) -> const Operand& {
    if (elements == 1) return operand;
    if (operand.kind != Operand::Kind::kVector || operand.parts.size() != elements) b.refuse("a vector of this length");
    return operand.parts[k];
  };
  b.out.extra = b.extras(
      {static_cast<std::uint32_t>(op), static_cast<std::uint32_t>(elements), static_cast<std::uint32_t>(bits / 8)});
  for (std::size_t k = 0; k < elements; ++k) {
    const bool drops = returns && b.operand(0).kind == Operand::Kind::kSink;
    b.extras({returns && !drops ? b.dest(part(b.operand(0), k), bits) : kNoSlot,
              b.source(part(b.operand(first + 1), k), bits), op == kCas ? b.source(first + 2, bits) : kNoSlot});
  }
  b.out.a = address.slot;
  b.out.imm = address.offset;
  b.out.mode = static_cast<std::uint8_t>(static_cast<int>(address.space) | (address.narrow ? 0x80 : 0));
  b.out.width = static_cast<std::uint8_t>(type);
  b.out.fn = type == Type::kB128 ? &atomic128 : &atomic;
  return true;
}

void fence(Warp&, const Inst&, Mask) {}

}  // namespace

bool bind_atomic(Binder& b) {
  const std::string_view op = b.op();
  if ((op == "atom" || op == "red") && !b.in.has("async")) return bind_update(b, op == "atom");
  if (op == "fence" || op == "membar") {
    if (b.in.has("tensormap::generic")) b.refuse("tensor maps");
    b.take_rest();
    b.out.fn = &fence;
    return true;
  }
  return false;
}

}  // namespace kf::emulator
