// SPDX-License-Identifier: Apache-2.0
// Comparisons, selections and predicate logic: PTX ISA 9.0 sections 9.7.6 and 9.7.7.
#include <array>
#include <cmath>

#include "floating.h"
#include "lanes.h"

namespace kf::emulator {
namespace {

enum Relation : std::uint8_t {
  kEq,
  kNe,
  kLt,
  kLe,
  kGt,
  kGe,
  kEqu,
  kNeu,
  kLtu,
  kLeu,
  kGtu,
  kGeu,
  kNum,
  kNan,
};
enum Combine : std::uint8_t { kNone, kAnd, kOr, kXor };

template <class T, class F>
Mask collect(const T* a, const T* b, Mask lanes, F relation) {
  if (lanes != kAllLanes) {
    Mask result = 0;
    for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
      const int l = std::countr_zero(rest);
      result |= Mask{relation(a[l], b[l])} << l;
    }
    return result;
  }
  std::array<std::uint32_t, kLanes> yes;
  for (int l = 0; l < kLanes; ++l) yes[l] = relation(a[l], b[l]) ? 1u : 0u;
  Mask result = 0;
  for (int l = 0; l < kLanes; ++l) result |= yes[l] << l;
  return result;
}

template <class T>
Mask compare(const T* a, const T* b, Mask lanes, int relation) {
  auto ordered = [](T x, T y) { return x == x && y == y; };
  switch (relation) {
    case kEq:
      return collect(a, b, lanes, [](T x, T y) { return x == y; });
    case kNe:
      return collect(a, b, lanes, [=](T x, T y) { return x != y && ordered(x, y); });
    case kLt:
      return collect(a, b, lanes, [](T x, T y) { return x < y; });
    case kLe:
      return collect(a, b, lanes, [](T x, T y) { return x <= y; });
    case kGt:
      return collect(a, b, lanes, [](T x, T y) { return x > y; });
    case kGe:
      return collect(a, b, lanes, [](T x, T y) { return x >= y; });
    case kEqu:
      return collect(a, b, lanes, [=](T x, T y) { return x == y || !ordered(x, y); });
    case kNeu:
      return collect(a, b, lanes, [](T x, T y) { return x != y; });
    case kLtu:
      return collect(a, b, lanes, [](T x, T y) { return !(x >= y); });
    case kLeu:
      return collect(a, b, lanes, [](T x, T y) { return !(x > y); });
    case kGtu:
      return collect(a, b, lanes, [](T x, T y) { return !(x <= y); });
    case kGeu:
      return collect(a, b, lanes, [](T x, T y) { return !(x < y); });
    case kNum:
      return collect(a, b, lanes, ordered);
    default:
      return collect(a, b, lanes, [=](T x, T y) { return !ordered(x, y); });
  }
}

// The lanes' values as float, flushed when asked for.
using Floats = std::array<float, kLanes>;
enum : std::uint8_t { kFtz = 1 };
Floats widen(const Warp& w, Slot slot, Type type, int half, bool ftz) {
  Floats out{};
  for (int l = 0; l < kLanes; ++l) {
    if (type == Type::kF32)
      out[l] = w.reg<float>(slot)[l];
    else {
      const bool pair = type == Type::kF16x2 || type == Type::kBf16x2;
      const auto bits = static_cast<std::uint16_t>(pair ? w.reg<std::uint32_t>(slot)[l] >> (16 * half)
                                                        : w.reg<std::uint16_t>(slot)[l]);
      out[l] = type == Type::kF16 || type == Type::kF16x2 ? half_to_float(bits) : bfloat_to_float(bits);
      if (ftz && std::fabs(out[l]) < (type == Type::kF16 || type == Type::kF16x2 ? 0x1p-14f : 0x1p-126f)) out[l] = 0;
    }
    if (ftz) out[l] = flush(out[l]);
  }
  return out;
}

Mask compare_as(const Warp& w, const Inst& i, Mask lanes, Type type, int half) {
  const int relation = i.mode;
  switch (type) {
    case Type::kB16:
    case Type::kU16:
      return compare(w.reg<std::uint16_t>(i.a), w.reg<std::uint16_t>(i.b), lanes, relation);
    case Type::kB32:
    case Type::kU32:
      return compare(w.reg<std::uint32_t>(i.a), w.reg<std::uint32_t>(i.b), lanes, relation);
    case Type::kB64:
    case Type::kU64:
      return compare(w.reg<std::uint64_t>(i.a), w.reg<std::uint64_t>(i.b), lanes, relation);
    case Type::kS16:
      return compare(w.reg<std::int16_t>(i.a), w.reg<std::int16_t>(i.b), lanes, relation);
    case Type::kS32:
      return compare(w.reg<std::int32_t>(i.a), w.reg<std::int32_t>(i.b), lanes, relation);
    case Type::kS64:
      return compare(w.reg<std::int64_t>(i.a), w.reg<std::int64_t>(i.b), lanes, relation);
    case Type::kF64:
      return compare(w.reg<double>(i.a), w.reg<double>(i.b), lanes, relation);
    default:
      break;
  }
  const bool ftz = (i.width & kFtz) != 0;
  if (type == Type::kF32 && !ftz) return compare(w.reg<float>(i.a), w.reg<float>(i.b), lanes, relation);
  const Floats a = widen(w, i.a, type, half, ftz), b = widen(w, i.b, type, half, ftz);
  return compare(a.data(), b.data(), lanes, relation);
}

// imm: type | combine << 8; d, e: predicates; c: third source.
Mask combine(const Warp& w, const Inst& i, Mask value) {
  switch (i.imm >> 8) {
    case kAnd:
      return value & pred(w, i.c);
    case kOr:
      return value | pred(w, i.c);
    case kXor:
      return value ^ pred(w, i.c);
    default:
      return value;
  }
}
void setp(Warp& w, const Inst& i, Mask lanes) {
  const auto type = static_cast<Type>(i.imm & 0xff);
  const Mask value = compare_as(w, i, lanes, type, 0);
  Mask other = ~value;
  if (type == Type::kF16x2 || type == Type::kBf16x2) other = compare_as(w, i, lanes, type, 1);
  const Mask p = combine(w, i, value), q = combine(w, i, other);
  set_pred(w, i.d, lanes, p);
  if (i.e != kNoSlot) set_pred(w, i.e, lanes, q);
}
// One integer type, no third source: what loops are made of.
template <class T>
void setp_plain(Warp& w, const Inst& i, Mask lanes) {
  set_pred(w, i.d, lanes, compare(w.reg<T>(i.a), w.reg<T>(i.b), lanes, i.mode));
}

void set(Warp& w, const Inst& i, Mask lanes) {
  const auto type = static_cast<Type>(i.imm & 0xff), to = static_cast<Type>(i.extra);
  const bool pair = type == Type::kF16x2 || type == Type::kBf16x2;
  const Mask low = combine(w, i, compare_as(w, i, lanes, type, 0));
  const Mask high = pair ? combine(w, i, compare_as(w, i, lanes, type, 1)) : 0;
  each_lane(lanes, [&](int l) {
    const bool x = (low >> l & 1) != 0, y = (high >> l & 1) != 0;
    switch (to) {
      case Type::kF32:
        w.reg<float>(i.d)[l] = x ? 1.0f : 0.0f;
        break;
      case Type::kF16:
        w.reg<std::uint16_t>(i.d)[l] = x ? 0x3c00 : 0;
        break;
      case Type::kBf16:
        w.reg<std::uint16_t>(i.d)[l] = x ? 0x3f80 : 0;
        break;
      case Type::kF16x2:
        w.reg<std::uint32_t>(i.d)[l] = (x ? 0x3c00u : 0) | (y ? 0x3c00'0000u : 0);
        break;
      case Type::kBf16x2:
        w.reg<std::uint32_t>(i.d)[l] = (x ? 0x3f80u : 0) | (y ? 0x3f80'0000u : 0);
        break;
      case Type::kU16:
      case Type::kS16:
        w.reg<std::uint16_t>(i.d)[l] = x ? 0xffff : 0;
        break;
      default:
        w.reg<std::uint32_t>(i.d)[l] = pair ? (x ? 0xffffu : 0) | (y ? 0xffff'0000u : 0) : (x ? ~0u : 0u);
    }
  });
}

template <class T>
void selp(Warp& w, const Inst& i, Mask lanes) {
  T* d = w.reg<T>(i.d);
  const T *a = w.reg<T>(i.a), *b = w.reg<T>(i.b);
  const Mask choose = pred(w, i.c);
  each_lane(lanes, [=](int l) { d[l] = (choose >> l & 1) != 0 ? a[l] : b[l]; });
}
template <class T, class C, bool kFlush = false>
void slct(Warp& w, const Inst& i, Mask lanes) {
  T* d = w.reg<T>(i.d);
  const T *a = w.reg<T>(i.a), *b = w.reg<T>(i.b);
  const C* c = w.reg<C>(i.c);
  each_lane(lanes, [=](int l) {
    if constexpr (kFlush)
      d[l] = flush(c[l]) >= 0 ? a[l] : b[l];
    else
      d[l] = c[l] >= 0 ? a[l] : b[l];
  });
}
template <class T>
Handler sized(int bits, T&& pick) {
  return bits == 16   ? pick.template operator()<std::uint16_t>()
         : bits == 32 ? pick.template operator()<std::uint32_t>()
         : bits == 64 ? pick.template operator()<std::uint64_t>()
                      : static_cast<Handler>(nullptr);
}

void pred_and(Warp& w, const Inst& i, Mask lanes) {
  set_pred(w, i.d, lanes, pred(w, i.a) & pred(w, i.b));
}
void pred_or(Warp& w, const Inst& i, Mask lanes) {
  set_pred(w, i.d, lanes, pred(w, i.a) | pred(w, i.b));
}
void pred_xor(Warp& w, const Inst& i, Mask lanes) {
  set_pred(w, i.d, lanes, pred(w, i.a) ^ pred(w, i.b));
}
void pred_not(Warp& w, const Inst& i, Mask lanes) {
  set_pred(w, i.d, lanes, ~pred(w, i.a));
}
void pred_mov(Warp& w, const Inst& i, Mask lanes) {
  set_pred(w, i.d, lanes, pred(w, i.a));
}

void pred_from_word(Warp& w, const Inst& i, Mask lanes) {
  const std::uint32_t* a = w.reg<std::uint32_t>(i.a);
  Mask value = 0;
  each_lane(lanes, [&](int l) { value |= Mask{a[l] != 0} << l; });
  set_pred(w, i.d, lanes, value);
}

bool bind_logic(Binder& b) {
  const std::string_view op = b.op();
  b.take("pred");
  b.out.d = b.pred_dest(b.operand(0));
  if (op == "mov" && b.operand(1).kind == Operand::Kind::kName) {  // %is_explicit_cluster
    b.out.a = b.source(1, 32);
    b.out.fn = &pred_from_word;
    return true;
  }
  b.out.a = b.pred_source(b.operand(1));
  if (op == "and" || op == "or" || op == "xor") b.out.b = b.pred_source(b.operand(2));
  b.out.fn = op == "and"                   ? &pred_and
             : op == "or"                  ? &pred_or
             : op == "xor"                 ? &pred_xor
             : op == "not" || op == "cnot" ? &pred_not
                                           : &pred_mov;
  return true;
}

Relation relation_of(Binder& b, Type type) {
  const int at =
      b.take_one({"eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"});
  if (at >= 0) return static_cast<Relation>(at);
  const int other = b.take_one({"lo", "ls", "hi", "hs"});
  if (other < 0 || is_signed(type) || !is_integer(type)) b.refuse("this comparison");
  return static_cast<Relation>(kLt + other);
}

bool bind_set(Binder& b, bool to_predicate) {
  Type to = Type::kPred;
  if (!to_predicate) to = b.take_type();
  const Type type = b.take_type();
  if (bits_of(type) < 16) return false;
  b.out.mode = relation_of(b, type);
  const int with = b.take_one({"and", "or", "xor"});
  if (b.take("ftz")) b.out.width |= kFtz;
  b.out.imm = static_cast<int>(type) | (with + 1) << 8;
  b.out.a = b.source(1, bits_of(type));
  b.out.b = b.source(2, bits_of(type));
  if (with >= 0) b.out.c = b.pred_source(b.operand(3));
  if (!to_predicate) {
    b.out.extra = static_cast<std::uint32_t>(to);
    b.out.d = b.dest(0, bits_of(to));
    b.out.fn = &set;
    return true;
  }
  const Operand& target = b.operand(0);
  const bool two = target.kind == Operand::Kind::kPair;
  b.out.d = b.pred_dest(two ? target.parts[0] : target);
  if (two) b.out.e = b.pred_dest(target.parts[1]);
  const Handler plain = for_integer(type, []<class T>() -> Handler { return &setp_plain<T>; });
  b.out.fn = with < 0 && !two && plain != nullptr ? plain : &setp;
  if (with < 0 && !two && type == Type::kF32 && b.out.width == 0) b.out.fn = &setp_plain<float>;
  return true;
}

}  // namespace

bool bind_compare(Binder& b) {
  const std::string_view op = b.op();
  if (b.in.words.back() == "pred" &&
      (op == "and" || op == "or" || op == "xor" || op == "not" || op == "cnot" || op == "mov"))
    return bind_logic(b);
  if (op == "setp") return bind_set(b, true);
  if (op == "set") return bind_set(b, false);
  if (op == "selp") {
    const int bits = bits_of(b.take_type());
    bind_slots(b, bits, bits, 2);
    b.out.c = b.pred_source(b.operand(3));
    b.out.fn = sized(bits, []<class T>() -> Handler { return &selp<T>; });
    return b.out.fn != nullptr;
  }
  if (op == "slct") {
    const bool ftz = b.take("ftz");
    const int bits = bits_of(b.take_type());
    const bool real = b.take_type() == Type::kF32;
    bind_slots(b, bits, bits, 2);
    b.out.c = b.source(3, 32);
    b.out.fn = sized(bits, [&]<class T>() -> Handler {
      return !real ? &slct<T, std::int32_t> : ftz ? &slct<T, float, true> : &slct<T, float>;
    });
    return b.out.fn != nullptr;
  }
  return false;
}

}  // namespace kf::emulator
