// SPDX-License-Identifier: Apache-2.0
// Integer arithmetic: PTX ISA 9.0 section 9.7.1. Products of 24 bits and sums of products: ops_narrow.cc; carries:
// ops_carry.cc.
#include <algorithm>
#include <limits>
#include <type_traits>

#include "integer.h"
#include "lanes.h"

namespace kf::emulator {
namespace {

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

template <class Op>
Handler same2(Type type) {
  return for_integer(type, []<class T>() -> Handler { return &map2<T, T, T, Op>; });
}
template <class Op>
Handler same3(Type type) {
  return for_integer(type, []<class T>() -> Handler { return &map3<T, T, T, T, Op>; });
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

}  // namespace

bool bind_integer(Binder& b) {
  const std::string_view op = b.op();
  const Type type = type_from(b.in.words.back());
  if (!is_integer(type) && type != Type::kU16x2 && type != Type::kS16x2) return false;
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
