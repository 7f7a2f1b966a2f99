// SPDX-License-Identifier: Apache-2.0
// Integer arithmetic: PTX ISA 9.0 sections 9.7.1 and 9.7.2.
#include <algorithm>
#include <limits>
#include <type_traits>

#include "lanes.h"

namespace kf::emulator {
namespace {

template <class T>
using U = std::make_unsigned_t<T>;
template <class T>
struct WideOf;
template <>
struct WideOf<std::uint16_t> {
  using type = std::uint32_t;
};
template <>
struct WideOf<std::int16_t> {
  using type = std::int32_t;
};
template <>
struct WideOf<std::uint32_t> {
  using type = std::uint64_t;
};
template <>
struct WideOf<std::int32_t> {
  using type = std::int64_t;
};
__extension__ typedef unsigned __int128 u128;
__extension__ typedef __int128 s128;
template <>
struct WideOf<std::uint64_t> {
  using type = u128;
};
template <>
struct WideOf<std::int64_t> {
  using type = s128;
};
template <class T>
using Wide = typename WideOf<T>::type;

// Unsigned arithmetic wraps; 16-bit operands promote to int, so the product is made unsigned first.
template <class T>
T wrap_mul(T a, T b) {
  return static_cast<T>(std::uint64_t(U<T>(a)) * std::uint64_t(U<T>(b)));
}
template <class T>
T high_mul(T a, T b) {
  return static_cast<T>((Wide<T>(a) * Wide<T>(b)) >> (8 * sizeof(T)));
}

struct Add {
  template <class T>
  T operator()(T a, T b) const {
    return T(U<T>(U<T>(a) + U<T>(b)));
  }
};
struct Sub {
  template <class T>
  T operator()(T a, T b) const {
    return T(U<T>(U<T>(a) - U<T>(b)));
  }
};
struct AddSat {
  std::int32_t operator()(std::int32_t a, std::int32_t b) const {
    return std::int32_t(std::clamp<std::int64_t>(std::int64_t{a} + b, INT32_MIN, INT32_MAX));
  }
};
struct SubSat {
  std::int32_t operator()(std::int32_t a, std::int32_t b) const {
    return std::int32_t(std::clamp<std::int64_t>(std::int64_t{a} - b, INT32_MIN, INT32_MAX));
  }
};
struct MulLo {
  template <class T>
  T operator()(T a, T b) const {
    return wrap_mul(a, b);
  }
};
struct MulHi {
  template <class T>
  T operator()(T a, T b) const {
    return high_mul(a, b);
  }
};
struct MulWide {
  template <class T>
  auto operator()(T a, T b) const {
    return Wide<T>(a) * Wide<T>(b);
  }
};
struct MadLo {
  template <class T>
  T operator()(T a, T b, T c) const {
    return Add{}(wrap_mul(a, b), c);
  }
};
struct MadHi {
  template <class T>
  T operator()(T a, T b, T c) const {
    return Add{}(high_mul(a, b), c);
  }
};
struct MadHiSat {
  std::int32_t operator()(std::int32_t a, std::int32_t b, std::int32_t c) const { return AddSat{}(high_mul(a, b), c); }
};
struct MadWide {
  template <class T, class W>
  W operator()(T a, T b, W c) const {
    return Add{}(W(Wide<T>(a) * Wide<T>(b)), c);
  }
};
// Division by zero gives all ones, as the hardware's sequences do; PTX leaves it open.
struct Div {
  template <class T>
  T operator()(T a, T b) const {
    if (b == 0) return T(~U<T>(0));
    if constexpr (std::is_signed_v<T>)
      if (b == -1) return Sub{}(T(0), a);
    return T(a / b);
  }
};
struct Rem {
  template <class T>
  T operator()(T a, T b) const {
    if (b == 0) return a;
    if constexpr (std::is_signed_v<T>)
      if (b == -1) return 0;
    return T(a % b);
  }
};
struct Abs {
  template <class T>
  T operator()(T a) const {
    return a < 0 ? Sub{}(T(0), a) : a;
  }
};
struct Neg {
  template <class T>
  T operator()(T a) const {
    return Sub{}(T(0), a);
  }
};
struct Min {
  template <class T>
  T operator()(T a, T b) const {
    return a < b ? a : b;
  }
};
struct Max {
  template <class T>
  T operator()(T a, T b) const {
    return a > b ? a : b;
  }
};
struct MinRelu {
  std::int32_t operator()(std::int32_t a, std::int32_t b) const { return std::max(std::min(a, b), 0); }
};
struct MaxRelu {
  std::int32_t operator()(std::int32_t a, std::int32_t b) const { return std::max(std::max(a, b), 0); }
};
struct Sad {
  template <class T>
  T operator()(T a, T b, T c) const {
    return Add{}(c, a < b ? Sub{}(b, a) : Sub{}(a, b));
  }
};

template <bool kSigned>
std::int64_t low24(std::uint32_t a) {
  return kSigned ? std::int64_t{std::int32_t(a << 8) >> 8} : std::int64_t{a & 0xff'ffffu};
}
template <bool kSigned, bool kHigh>
struct Mul24 {
  std::uint32_t operator()(std::uint32_t a, std::uint32_t b) const {
    return std::uint32_t((low24<kSigned>(a) * low24<kSigned>(b)) >> (kHigh ? 16 : 0));
  }
};
template <bool kSigned, bool kHigh>
struct Mad24 {
  std::uint32_t operator()(std::uint32_t a, std::uint32_t b, std::uint32_t c) const {
    return Mul24<kSigned, kHigh>{}(a, b) + c;
  }
};

struct Mad24HiSat {
  std::uint32_t operator()(std::uint32_t a, std::uint32_t b, std::uint32_t c) const {
    const std::int64_t sum = ((low24<true>(a) * low24<true>(b)) >> 16) + std::int32_t(c);
    return std::uint32_t(std::int32_t(std::clamp<std::int64_t>(sum, INT32_MIN, INT32_MAX)));
  }
};

template <class Op>
struct Pairs16 {  // u16x2, s16x2: Op on each half
  template <class T>
  static std::uint32_t apply(std::uint32_t a, std::uint32_t b) {
    const T lo = Op{}(T(a), T(b)), hi = Op{}(T(a >> 16), T(b >> 16));
    return std::uint32_t{std::uint16_t(lo)} | std::uint32_t{std::uint16_t(hi)} << 16;
  }
};
template <class Op, class T, bool kRelu = false>
struct Pair {
  std::uint32_t operator()(std::uint32_t a, std::uint32_t b) const {
    const std::uint32_t both = Pairs16<Op>::template apply<T>(a, b);
    return kRelu ? Pairs16<Max>::apply<std::int16_t>(both, 0) : both;
  }
};

// dp4a, dp2a: bytes of b, bytes or halves of a.
template <bool kSignedA, bool kSignedB>
struct Dp4a {
  std::uint32_t operator()(std::uint32_t a, std::uint32_t b, std::uint32_t c) const {
    for (int k = 0; k < 32; k += 8) {
      const int x = kSignedA ? int{std::int8_t(a >> k)} : int{std::uint8_t(a >> k)};
      const int y = kSignedB ? int{std::int8_t(b >> k)} : int{std::uint8_t(b >> k)};
      c += std::uint32_t(x * y);
    }
    return c;
  }
};
template <bool kSignedA, bool kSignedB, bool kHigh>
struct Dp2a {
  std::uint32_t operator()(std::uint32_t a, std::uint32_t b, std::uint32_t c) const {
    if (kHigh) b >>= 16;
    for (int k = 0; k < 2; ++k) {
      const int x = kSignedA ? int{std::int16_t(a >> 16 * k)} : int{std::uint16_t(a >> 16 * k)};
      const int y = kSignedB ? int{std::int8_t(b >> 8 * k)} : int{std::uint8_t(b >> 8 * k)};
      c += std::uint32_t(x * y);
    }
    return c;
  }
};

// add.cc, addc, sub.cc, subc, mad.cc, madc: the carry flag is one bit a lane; subtraction keeps a borrow.
enum : std::uint8_t { kReadsCarry = 1, kWritesCarry = 2 };
template <class T, int kForm>  // 0 add, 1 sub, 2 mad.lo, 3 mad.hi
void with_carry(Warp& w, const Inst& i, Mask lanes) {
  T* d = w.reg<T>(i.d);
  const T *a = w.reg<T>(i.a), *b = w.reg<T>(i.b), *c = kForm >= 2 ? w.reg<T>(i.c) : nullptr;
  Mask carry_out = 0;
  for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
    const int l = std::countr_zero(rest);
    const u128 carry = (i.mode & kReadsCarry) != 0 ? (w.carry >> l) & 1 : 0;
    u128 x = a[l], y = b[l];
    if (kForm >= 2) {
      x = kForm == 2 ? T(x * y) : T((x * y) >> (8 * sizeof(T)));
      if constexpr (kForm == 3)
        if (i.width != 0) x = T(high_mul(std::make_signed_t<T>(a[l]), std::make_signed_t<T>(b[l])));
      y = c[l];
    }
    const u128 sum = kForm == 1 ? x - y - carry : x + y + carry;
    d[l] = T(sum);
    if (((sum >> (8 * sizeof(T))) & 1) != 0) carry_out |= Mask{1} << l;
  }
  if ((i.mode & kWritesCarry) != 0) w.carry = (w.carry & ~lanes) | carry_out;
}

template <class Op>
Handler same2(Type type) {
  return for_integer(type, []<class T>() -> Handler { return &map2<T, T, T, Op>; });
}
template <class Op>
Handler same3(Type type) {
  return for_integer(type, []<class T>() -> Handler { return &map3<T, T, T, T, Op>; });
}

bool bind_carry(Binder& b, int form, bool reads) {
  const Type type = b.take_type();
  const bool wide = bits_of(type) == 64;
  if (form == 2 && b.take("hi"))
    form = 3;
  else if (form == 2 && !b.take("lo"))
    return false;
  b.out.mode = static_cast<std::uint8_t>((reads ? kReadsCarry : 0) | (b.take("cc") ? kWritesCarry : 0));
  b.out.width = is_signed(type);
  bind_slots(b, bits_of(type), bits_of(type), form >= 2 ? 3 : 2);
  static constexpr Handler k32[] = {&with_carry<std::uint32_t, 0>, &with_carry<std::uint32_t, 1>,
                                    &with_carry<std::uint32_t, 2>, &with_carry<std::uint32_t, 3>};
  static constexpr Handler k64[] = {&with_carry<std::uint64_t, 0>, &with_carry<std::uint64_t, 1>,
                                    &with_carry<std::uint64_t, 2>, &with_carry<std::uint64_t, 3>};
  b.out.fn = wide ? k64[form] : k32[form];
  return bits_of(type) >= 32;
}

bool bind_product(Binder& b, bool mad) {
  const int part = b.take_one({"lo", "hi", "wide"});
  const bool sat = b.take("sat");
  const Type type = b.take_type();
  if (!is_integer(type) || part < 0) return false;
  const int bits = bits_of(type);
  bind_slots(b, part == 2 ? 2 * bits : bits, bits, 2);
  if (mad) b.out.c = b.source(3, part == 2 ? 2 * bits : bits);
  if (sat) {
    if (!mad || part != 1 || type != Type::kS32) b.refuse(".sat is for mad.hi.s32");
    b.out.fn = &map3<std::int32_t, std::int32_t, std::int32_t, std::int32_t, MadHiSat>;
  } else if (part == 2) {
    b.out.fn = for_integer(type, [&]<class T>() -> Handler {
      if constexpr (sizeof(T) > 4)
        return nullptr;
      else
        return mad ? &map3<Wide<T>, T, T, Wide<T>, MadWide> : &map2<Wide<T>, T, T, MulWide>;
    });
  } else if (mad) {
    b.out.fn = part == 0 ? same3<MadLo>(type) : same3<MadHi>(type);
  } else {
    b.out.fn = part == 0 ? same2<MulLo>(type) : same2<MulHi>(type);
  }
  return b.out.fn != nullptr;
}

template <class Op>
Handler pairs(Type type) {
  return type == Type::kU16x2 ? &map2<std::uint32_t, std::uint32_t, std::uint32_t, Pair<Op, std::uint16_t>>
                              : &map2<std::uint32_t, std::uint32_t, std::uint32_t, Pair<Op, std::int16_t>>;
}

bool bind_two(Binder& b, Type type) {
  using S32 = std::int32_t;
  const std::string_view op = b.op();
  bind_slots(b, bits_of(type), bits_of(type), 2);
  Handler& fn = b.out.fn;
  if (type == Type::kU16x2 || type == Type::kS16x2) {
    const bool relu = b.take("relu");
    using W = std::uint32_t;
    if (op == "add") fn = pairs<Add>(type);
    if (op == "min") fn = relu ? &map2<W, W, W, Pair<Min, std::int16_t, true>> : pairs<Min>(type);
    if (op == "max") fn = relu ? &map2<W, W, W, Pair<Max, std::int16_t, true>> : pairs<Max>(type);
    return fn != nullptr;
  }
  if (b.take("sat")) {
    if (type != Type::kS32) b.refuse(".sat is for s32");
    fn = op == "add" ? &map2<S32, S32, S32, AddSat> : op == "sub" ? &map2<S32, S32, S32, SubSat> : nullptr;
    return fn != nullptr;
  }
  if ((op == "min" || op == "max") && b.take("relu")) {
    if (type != Type::kS32) b.refuse(".relu is for s32 and s16x2");
    fn = op == "min" ? &map2<S32, S32, S32, MinRelu> : &map2<S32, S32, S32, MaxRelu>;
    return true;
  }
  if (op == "add") fn = same2<Add>(type);
  if (op == "sub") fn = same2<Sub>(type);
  if (op == "min") fn = same2<Min>(type);
  if (op == "max") fn = same2<Max>(type);
  if (op == "div") fn = same2<Div>(type);
  if (op == "rem") fn = same2<Rem>(type);
  return fn != nullptr;
}

bool bind_24(Binder& b, bool mad) {
  const bool high = b.take_one({"lo", "hi"}) == 1, s = is_signed(b.take_type());
  bind_slots(b, 32, 32, mad ? 3 : 2);
  using W = std::uint32_t;
  if (mad && s && high && b.take("sat"))
    b.out.fn = &map3<W, W, W, W, Mad24HiSat>;
  else if (mad)
    b.out.fn = s ? (high ? &map3<W, W, W, W, Mad24<true, true>> : &map3<W, W, W, W, Mad24<true, false>>)
                 : (high ? &map3<W, W, W, W, Mad24<false, true>> : &map3<W, W, W, W, Mad24<false, false>>);
  else
    b.out.fn = s ? (high ? &map2<W, W, W, Mul24<true, true>> : &map2<W, W, W, Mul24<true, false>>)
                 : (high ? &map2<W, W, W, Mul24<false, true>> : &map2<W, W, W, Mul24<false, false>>);
  return true;
}

bool bind_dot(Binder& b) {
  using W = std::uint32_t;
  const bool two = b.op() == "dp2a", high = two && b.take_one({"lo", "hi"}) == 1;
  const bool sa = is_signed(b.take_type()), sb = is_signed(b.take_type());
  bind_slots(b, 32, 32, 3);
  static constexpr Handler k4[] = {&map3<W, W, W, W, Dp4a<false, false>>, &map3<W, W, W, W, Dp4a<false, true>>,
                                   &map3<W, W, W, W, Dp4a<true, false>>, &map3<W, W, W, W, Dp4a<true, true>>};
  static constexpr Handler k2[] = {
      &map3<W, W, W, W, Dp2a<false, false, false>>, &map3<W, W, W, W, Dp2a<false, true, false>>,
      &map3<W, W, W, W, Dp2a<true, false, false>>,  &map3<W, W, W, W, Dp2a<true, true, false>>,
      &map3<W, W, W, W, Dp2a<false, false, true>>,  &map3<W, W, W, W, Dp2a<false, true, true>>,
      &map3<W, W, W, W, Dp2a<true, false, true>>,   &map3<W, W, W, W, Dp2a<true, true, true>>};
  b.out.fn = two ? k2[4 * high + 2 * sa + sb] : k4[2 * sa + sb];
  return true;
}

}  // namespace

bool bind_integer(Binder& b) {
  const std::string_view op = b.op();
  if (op == "addc") return bind_carry(b, 0, true);
  if (op == "subc") return bind_carry(b, 1, true);
  if (op == "madc") return bind_carry(b, 2, true);
  if (op == "dp4a" || op == "dp2a") return bind_dot(b);
  if (op == "mul24" || op == "mad24") return bind_24(b, op == "mad24");
  const Type type = type_from(b.in.words.back());
  if (!is_integer(type) && type != Type::kU16x2 && type != Type::kS16x2) return false;
  if (b.in.has("cc")) {
    if (op == "add") return bind_carry(b, 0, false);
    if (op == "sub") return bind_carry(b, 1, false);
    if (op == "mad") return bind_carry(b, 2, false);
  }
  if (op == "mul" || op == "mad") return bind_product(b, op == "mad");
  if (op == "add" || op == "sub" || op == "min" || op == "max" || op == "div" || op == "rem")
    return bind_two(b, b.take_type());
  if (op == "sad") {
    b.take_type();
    bind_slots(b, bits_of(type), bits_of(type), 3);
    b.out.fn = same3<Sad>(type);
    return b.out.fn != nullptr;
  }
  if ((op == "abs" || op == "neg") && is_signed(type)) {
    b.take_type();
    bind_slots(b, bits_of(type), bits_of(type), 1);
    b.out.fn = for_integer(type, [&]<class T>() -> Handler {
      if constexpr (std::is_signed_v<T>)
        return op == "abs" ? &map1<T, T, Abs> : &map1<T, T, Neg>;
      else
        return nullptr;
    });
    return b.out.fn != nullptr;
  }
  return false;
}

}  // namespace kf::emulator
