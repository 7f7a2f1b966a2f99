// SPDX-License-Identifier: Apache-2.0
// cvt: PTX ISA 9.0 section 9.7.9.21. Frequent pairs of types have loops of their own; every other form goes
// through one exact path: the source as integer or double, one rounding, the destination's clamp.
#include <algorithm>
#include <cfenv>
#include <cmath>
#include <limits>

#include "floating.h"
#include "lanes.h"

namespace kf::emulator {
namespace {

constexpr int kHostRound[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
enum : std::uint8_t { kFtz = 1, kSat = 2, kFinite = 4, kRelu = 8, kToInteger = 16 };  // Inst::width

std::uint64_t load(const Warp& w, Slot slot, int bits, int lane) {
  return bits == 16   ? w.reg<std::uint16_t>(slot)[lane]
         : bits == 32 ? w.reg<std::uint32_t>(slot)[lane]
                      : w.reg<std::uint64_t>(slot)[lane];
}
void store(Warp& w, Slot slot, int bits, int lane, std::uint64_t value) {
  if (bits == 16)
    w.reg<std::uint16_t>(slot)[lane] = static_cast<std::uint16_t>(value);
  else if (bits == 32)
    w.reg<std::uint32_t>(slot)[lane] = static_cast<std::uint32_t>(value);
  else
    w.reg<std::uint64_t>(slot)[lane] = value;
}

bool is_real(Type t) {
  return t == Type::kF16 || t == Type::kBf16 || t == Type::kF32 || t == Type::kF64 || t == Type::kTf32;
}

double real_value(std::uint64_t bits, Type type, bool ftz) {
  switch (type) {
    case Type::kF16:
      return half_to_float(static_cast<std::uint16_t>(bits));
    case Type::kBf16:
      return bfloat_to_float(static_cast<std::uint16_t>(bits));
    case Type::kF64:
      return std::bit_cast<double>(bits);
    case Type::kE4m3:
      return E4m3::decode(static_cast<std::uint32_t>(bits & 0xff));
    case Type::kE5m2:
      return E5m2::decode(static_cast<std::uint32_t>(bits & 0xff));
    default: {
      const float x = float_of_bits(static_cast<std::uint32_t>(bits));
      return ftz ? canonical(flush(x)) : x;
    }
  }
}

std::uint64_t encode_real(double x, Type type, Round round, int flags) {
  if ((flags & kSat) != 0) x = x > 0 ? std::min(x, 1.0) : 0.0;
  if ((flags & kRelu) != 0 && x == x && std::signbit(x)) x = 0.0;
  const bool finite = (flags & kFinite) != 0;
  switch (type) {
    case Type::kF16:
      return Half::encode(x, round, finite);
    case Type::kBf16:
      return Bfloat::encode(x, round, finite);
    case Type::kE4m3:
      return E4m3::encode(x, round, finite);
    case Type::kE5m2:
      return E5m2::encode(x, round, finite);
    case Type::kTf32:
      return x != x ? 0x7fff'e000u : std::uint64_t{Tf32::encode(x, round, finite)} << 13;
    case Type::kF64:
      return std::bit_cast<std::uint64_t>(x);
    default: {
      std::fesetround(kHostRound[static_cast<int>(round) & 3]);
      volatile float r = static_cast<float>(x);
      std::fesetround(FE_TONEAREST);
      float result = canonical(r);
      if ((flags & kFtz) != 0) result = flush(result);
      return bits_of_float(result);
    }
  }
}

// NaN keeps its sign and the upper part of its payload on the way down from f64.
std::uint64_t narrow_nan(std::uint64_t bits, Type to) {
  const std::uint64_t sign = bits >> 63, payload = bits & ((std::uint64_t{1} << 51) - 1);
  if (to == Type::kF64) return bits | std::uint64_t{1} << 51;
  if (to == Type::kF32) return sign << 31 | 0x7fc0'0000u | payload >> 29;
  return to == Type::kF16 ? sign << 15 | 0x7e00u | payload >> 42 : sign << 15 | 0x7fc0u | payload >> 45;
}

// f32 and f64 to themselves and bf16 to f32 move bits: NaN keeps its sign and payload, whatever the rounding.
bool moves_bits(Type to, Type from, int flags) {
  const bool same = to == from && (to == Type::kF32 || to == Type::kF64);
  return flags == 0 && (same || (to == Type::kF32 && from == Type::kBf16));
}

double to_integral(double x, Round round) {
  switch (round) {
    case Round::kZero:
      return std::trunc(x);
    case Round::kDown:
      return std::floor(x);
    case Round::kUp:
      return std::ceil(x);
    default:
      return std::nearbyint(x);
  }
}

std::uint64_t real_to_integer(double x, Type from, Type to, Round round) {
  const int bits = bits_of(to);
  if (x != x) return from == Type::kF64 || bits == 64 ? std::uint64_t{1} << (bits - 1) : 0;
  x = to_integral(x, round);
  if (is_signed(to)) {
    const double limit = std::ldexp(1.0, bits - 1);
    const auto most = static_cast<std::int64_t>((std::uint64_t{1} << (bits - 1)) - 1);
    if (x >= limit) return static_cast<std::uint64_t>(most);
    if (x < -limit) return static_cast<std::uint64_t>(-most - 1);
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(x));
  }
  if (x <= 0) return 0;
  if (x >= std::ldexp(1.0, bits)) return bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
  return static_cast<std::uint64_t>(x);
}

std::uint64_t integer_to_real(std::uint64_t value, bool is_negative_type, Type to, Round round, int flags) {
  const bool negative = is_negative_type && static_cast<std::int64_t>(value) < 0;
  std::fesetround(to == Type::kF32 || to == Type::kF64 ? kHostRound[static_cast<int>(round) & 3] : FE_TOWARDZERO);
  std::uint64_t result = 0;
  if (to == Type::kF32) {
    volatile float r =
        is_negative_type ? static_cast<float>(static_cast<std::int64_t>(value)) : static_cast<float>(value);
    result = bits_of_float((flags & kSat) != 0 ? saturate(r) : static_cast<float>(r));
    std::fesetround(FE_TONEAREST);
    return result;
  }
  volatile double r =
      is_negative_type ? static_cast<double>(static_cast<std::int64_t>(value)) : static_cast<double>(value);
  std::fesetround(FE_TONEAREST);
  if (to == Type::kF64) {
    const double x = r;
    return std::bit_cast<std::uint64_t>((flags & kSat) != 0 ? std::clamp(x, 0.0, 1.0) : x);
  }
  // Truncated to 53 bits; a bit that was lost makes the last one odd, so that the next rounding is right.
  std::uint64_t bits = std::bit_cast<std::uint64_t>(static_cast<double>(r));
  const std::uint64_t magnitude = negative ? 0 - value : value;
  if (std::bit_width(magnitude) > 53 && (magnitude & ((std::uint64_t{1} << (std::bit_width(magnitude) - 53)) - 1)) != 0)
    bits |= 1;
  return encode_real(std::bit_cast<double>(bits), to, round, flags);
}

std::uint64_t clamp_integer(std::uint64_t value, bool from_signed, Type to) {
  const int bits = bits_of(to);
  if (is_signed(to)) {
    const auto most = static_cast<std::int64_t>((std::uint64_t{1} << (bits - 1)) - 1);
    if (!from_signed) return std::min<std::uint64_t>(value, static_cast<std::uint64_t>(most));
    return static_cast<std::uint64_t>(std::clamp(static_cast<std::int64_t>(value), -most - 1, most));
  }
  if (from_signed && static_cast<std::int64_t>(value) < 0) return 0;
  return bits == 64 ? value : std::min<std::uint64_t>(value, (std::uint64_t{1} << bits) - 1);
}

std::uint64_t extend(std::uint64_t value, Type type) {
  const int drop = 64 - bits_of(type);
  return is_signed(type) ? static_cast<std::uint64_t>(static_cast<std::int64_t>(value << drop) >> drop)
                         : value << drop >> drop;
}

// imm: to | from << 8 | register bits of d << 16 | register bits of a << 24.
void convert(Warp& w, const Inst& i, Mask lanes) {
  const auto to = static_cast<Type>(i.imm & 0xff), from = static_cast<Type>(i.imm >> 8 & 0xff);
  const int to_bits = static_cast<int>(i.imm >> 16 & 0xff), from_bits = static_cast<int>(i.imm >> 24 & 0xff);
  const auto round = static_cast<Round>(i.mode);
  each_lane(lanes, [&](int l) {
    std::uint64_t value = load(w, i.a, from_bits, l);
    if (is_real(from)) {
      const double x = real_value(value, from, (i.width & kFtz) != 0);
      if (moves_bits(to, from, i.width)) {
        value = to == from ? value : (value & 0xffff) << 16;
      } else if (x != x && from == Type::kF64 && is_real(to)) {
        value = (i.width & kSat) != 0 ? 0 : narrow_nan(value, to);
      } else if (to == Type::kTf32 && round == Round::kNearestAway) {
        value = float_to_tf32_away(static_cast<std::uint32_t>(value), (i.width & kFinite) != 0);
      } else if (!is_real(to))
        value = real_to_integer(x, from, to, round);
      else if ((i.width & kToInteger) != 0)
        value = encode_real(to_integral(x, round), to, Round::kNearestEven, i.width);
      else
        value = encode_real(x, to, round, i.width);
    } else {
      value = extend(value, from);
      if (is_real(to))
        value = integer_to_real(value, is_signed(from), to, round, i.width);
      else if ((i.width & kSat) != 0)
        value = clamp_integer(value, is_signed(from), to);
    }
    store(w, i.d, to_bits, l, is_real(to) ? value : extend(value, to));
  });
}

// Two sources into one packed register: the first goes to the upper half.
void convert_pair(Warp& w, const Inst& i, Mask lanes) {
  const auto half = static_cast<Type>(i.imm & 0xff);
  const int step = bits_of(half);
  each_lane(lanes, [&](int l) {
    const bool ftz = (i.width & kFtz) != 0;
    const auto a = encode_real(real_value(w.reg<std::uint32_t>(i.a)[l], Type::kF32, ftz), half,
                               static_cast<Round>(i.mode), i.width);
    const auto b = encode_real(real_value(w.reg<std::uint32_t>(i.b)[l], Type::kF32, ftz), half,
                               static_cast<Round>(i.mode), i.width);
    store(w, i.d, 2 * step, l, a << step | b);
  });
}
// Packed to packed: e4m3x2.f16x2 and f16x2.e4m3x2.
void convert_packed(Warp& w, const Inst& i, Mask lanes) {
  const auto to = static_cast<Type>(i.imm & 0xff), from = static_cast<Type>(i.imm >> 8 & 0xff);
  const int to_bits = bits_of(to), from_bits = bits_of(from);
  each_lane(lanes, [&](int l) {
    const std::uint64_t all = load(w, i.a, 2 * from_bits, l);
    std::uint64_t result = 0;
    for (int k = 0; k < 2; ++k) {
      const std::uint64_t part = all >> (k * from_bits) & ((std::uint64_t{1} << from_bits) - 1);
      result |= encode_real(real_value(part, from, false), to, static_cast<Round>(i.mode), i.width) << (k * to_bits);
    }
    store(w, i.d, 2 * to_bits, l, result);
  });
}
// cvt.pack.sat.b.s32: {c,} a, b -> clamped halves, bytes or nibbles; c moves up.
void convert_pack(Warp& w, const Inst& i, Mask lanes) {
  const auto to = static_cast<Type>(i.imm & 0xff);
  const int step = bits_of(to);
  const bool is_unsigned = to == Type::kU2 || to == Type::kU4 || !(is_signed(to) || to == Type::kS2 || to == Type::kS4);
  const std::int64_t most = (std::int64_t{1} << (is_unsigned ? step : step - 1)) - 1,
                     least = is_unsigned ? 0 : -most - 1;
  const std::uint64_t ones = (std::uint64_t{1} << step) - 1;
  each_lane(lanes, [&](int l) {
    auto part = [&](Slot slot) {
      const std::int64_t value = w.reg<std::int32_t>(slot)[l];
      return static_cast<std::uint64_t>(std::clamp(value, least, most)) & ones;
    };
    const std::uint64_t low = part(i.a) << step | part(i.b);
    w.reg<std::uint32_t>(i.d)[l] = static_cast<std::uint32_t>(
        low | (i.c == kNoSlot ? 0 : std::uint64_t{w.reg<std::uint32_t>(i.c)[l]} << (2 * step)));
  });
}

struct ToFloat {
  template <class T>
  float operator()(T x) const {
    return static_cast<float>(x);
  }
};
struct Cast {
  template <class T>
  T operator()(T x) const {
    return x;
  }
};
struct FloatToInt {
  std::int32_t operator()(float x) const {
    return x != x ? 0 : x >= 0x1p31f ? INT32_MAX : x <= -0x1p31f ? INT32_MIN : static_cast<std::int32_t>(x);
  }
};
struct FromHalf {
  float operator()(std::uint16_t x) const { return canonical(half_to_float(x)); }
};
struct FromBfloat {
  float operator()(std::uint16_t x) const { return bfloat_to_float(x); }
};
struct ToHalf {
  std::uint16_t operator()(float x) const { return float_to_half(x); }
};
struct ToBfloat {
  std::uint16_t operator()(float x) const { return float_to_bfloat(x); }
};
struct HalfPair {
  std::uint32_t operator()(float a, float b) const { return std::uint32_t{float_to_half(a)} << 16 | float_to_half(b); }
};
struct BfloatPair {
  std::uint32_t operator()(float a, float b) const {
    return std::uint32_t{float_to_bfloat(a)} << 16 | float_to_bfloat(b);
  }
};
struct FloatToDouble {
  double operator()(float x) const { return x; }
};

// The frequent pairs, when no modifier asks for more.
Handler plain(Type to, Type from, int to_bits, int from_bits, Round round, int flags) {
  if (flags != 0 || to_bits != bits_of(to) || from_bits != bits_of(from)) return nullptr;
  using U16 = std::uint16_t;
  using U32 = std::uint32_t;
  using S32 = std::int32_t;
  using U64 = std::uint64_t;
  using S64 = std::int64_t;
  const bool nearest = round == Round::kNearestEven;
  if (to == Type::kF32 && from == Type::kBf16) return &map1<float, U16, FromBfloat>;
  if (to == Type::kF32 && nearest) {
    if (from == Type::kS32) return &map1<float, S32, ToFloat>;
    if (from == Type::kU32) return &map1<float, U32, ToFloat>;
    if (from == Type::kF16) return &map1<float, U16, FromHalf>;
  }
  if (from == Type::kF32) {
    if (to == Type::kS32 && round == Round::kZero) return &map1<S32, float, FloatToInt>;
    if (to == Type::kF16 && nearest) return &map1<U16, float, ToHalf>;
    if (to == Type::kBf16 && nearest) return &map1<U16, float, ToBfloat>;
    if (to == Type::kF64) return &map1<double, float, FloatToDouble>;
  }
  if (bits_of(to) == 64 && is_integer(to)) {
    if (from == Type::kU32) return &map1<U64, U32, Cast>;
    if (from == Type::kS32) return &map1<S64, S32, Cast>;
  }
  if (bits_of(to) == 32 && is_integer(to)) {
    if (from == Type::kU16) return &map1<U32, U16, Cast>;
    if (from == Type::kS16) return &map1<S32, std::int16_t, Cast>;
    if (bits_of(from) == 64 && is_integer(from)) return &map1<U32, U64, Cast>;
  }
  if (bits_of(to) == 16 && is_integer(to)) {
    if (bits_of(from) == 32 && is_integer(from)) return &map1<U16, U32, Cast>;
    if (bits_of(from) == 64 && is_integer(from)) return &map1<U16, U64, Cast>;
  }
  return nullptr;
}

Type element(Type packed) {
  switch (packed) {
    case Type::kF16x2:
      return Type::kF16;
    case Type::kBf16x2:
      return Type::kBf16;
    case Type::kE4m3x2:
      return Type::kE4m3;
    case Type::kE5m2x2:
      return Type::kE5m2;
    default:
      return Type::kNone;
  }
}

bool bind_packed(Binder& b, Type to, Type from) {
  if (from == Type::kF32) {
    const Type half = element(to);
    b.out.imm = static_cast<int>(half);
    bind_slots(b, bits_of(to), 32, 2);
    const bool plain_form = b.out.mode == 0 && b.out.width == 0;
    b.out.fn = plain_form && to == Type::kF16x2    ? &map2<std::uint32_t, float, float, HalfPair>
               : plain_form && to == Type::kBf16x2 ? &map2<std::uint32_t, float, float, BfloatPair>
                                                   : &convert_pair;
    return half != Type::kNone;
  }
  if (element(from) == Type::kNone || element(to) == Type::kNone) return false;
  b.out.imm = static_cast<int>(element(to)) | static_cast<int>(element(from)) << 8;
  bind_slots(b, bits_of(to), bits_of(from), 1);
  b.out.fn = &convert_packed;
  return true;
}

}  // namespace

bool bind_convert(Binder& b) {
  if (b.op() != "cvt") return false;
  if (b.take("pack")) {
    b.take("sat");
    const Type to = b.take_type(), from = b.take_type();
    const bool tiny = to == Type::kU2 || to == Type::kS2 || to == Type::kU4 || to == Type::kS4;
    if (from != Type::kS32 || (!is_integer(to) && !tiny)) return false;
    if (b.operands() == 4 && b.take("b32")) b.out.c = b.source(3, 32);
    bind_slots(b, 32, 32, 2);
    b.out.imm = static_cast<int>(to);
    b.out.fn = &convert_pack;
    return true;
  }
  const int round = b.take_one({"rn", "rz", "rm", "rp", "rna"});
  const int integral = b.take_one({"rni", "rzi", "rmi", "rpi"});
  if (b.take("ftz")) b.out.width |= kFtz;
  if (b.take("sat")) b.out.width |= kSat;
  if (b.take("satfinite")) b.out.width |= kFinite;
  if (b.take("relu")) b.out.width |= kRelu;
  const Type to = b.take_type(), from = b.take_type();
  if (to == Type::kNone || from == Type::kNone) return false;
  b.out.mode = static_cast<std::uint8_t>(std::max({round, integral, 0}));
  if (to == Type::kF16) b.out.width &= static_cast<std::uint8_t>(~kFtz);  // subnormals of f32 round, as without .ftz
  if (element(to) != Type::kNone || element(from) != Type::kNone) return bind_packed(b, to, from);
  if (integral >= 0 && is_real(to)) b.out.width |= kToInteger;
  if (is_real(to) && is_real(from) && integral < 0 && round < 0 && bits_of(to) < bits_of(from))
    b.refuse("a narrowing cvt without rounding");
  // Registers may be wider than the types.
  const int to_bits = std::max(b.width(b.operand(0)), 16),
            from_bits = std::max({b.width(b.operand(1)), bits_of(from), 16});
  if (to_bits < bits_of(to) || from_bits < bits_of(from)) b.refuse("a register narrower than its type");
  b.out.d = b.dest(0, to_bits);
  b.out.a = b.source(1, from_bits);
  b.out.imm = static_cast<std::int64_t>(to) | static_cast<std::int64_t>(from) << 8 | std::int64_t{to_bits} << 16 |
              std::int64_t{from_bits} << 24;
  b.out.fn = plain(to, from, to_bits, from_bits, static_cast<Round>(b.out.mode), b.out.width);
  if (b.out.fn == nullptr) b.out.fn = &convert;
  return true;
}

}  // namespace kf::emulator
