// SPDX-License-Identifier: Apache-2.0
// Logic, shifts and bit fields: PTX ISA 9.0 sections 9.7.1 (bit operations) and 9.7.8.
#include <algorithm>
#include <limits>
#include <type_traits>

#include "lanes.h"

namespace kf::emulator {
namespace {

using W = std::uint32_t;
struct And {
  template <class T>
  T operator()(T a, T b) const {
    return T(a & b);
  }
};
struct Or {
  template <class T>
  T operator()(T a, T b) const {
    return T(a | b);
  }
};
struct Xor {
  template <class T>
  T operator()(T a, T b) const {
    return T(a ^ b);
  }
};
struct Not {
  template <class T>
  T operator()(T a) const {
    return T(~a);
  }
};
struct Cnot {
  template <class T>
  T operator()(T a) const {
    return T(a == 0);
  }
};
// Shift amounts clamp at the width of the type.
struct Shl {
  template <class T>
  T operator()(T a, W n) const {
    return n >= 8 * sizeof(T) ? T(0) : T(a << n);
  }
};
struct Shr {
  template <class T>
  T operator()(T a, W n) const {
    if constexpr (std::is_signed_v<T>)
      return T(a >> std::min<W>(n, 8 * sizeof(T) - 1));
    else
      return n >= 8 * sizeof(T) ? T(0) : T(a >> n);
  }
};
template <bool kLeft, bool kWrap>
struct Shf {  // funnel shift of b:a
  W operator()(W a, W b, W n) const {
    n = kWrap ? n & 31 : std::min<W>(n, 32);
    const std::uint64_t both = std::uint64_t{b} << 32 | a;
    return kLeft ? W((both << n) >> 32) : W(both >> n);
  }
};
struct Popc {
  template <class T>
  int operator()(T a) const {
    return std::popcount(a);
  }
};
struct Clz {
  template <class T>
  int operator()(T a) const {
    return std::countl_zero(a);
  }
};
struct Brev {
  template <class T>
  T operator()(T a) const {
    T r = 0;
    for (unsigned k = 0; k < 8 * sizeof(T); ++k) r = T(r << 1 | ((a >> k) & 1));
    return r;
  }
};
template <bool kShift>
struct Bfind {  // position of the most significant non-sign bit
  template <class T>
  W operator()(T a) const {
    std::make_unsigned_t<T> v = a < 0 ? std::make_unsigned_t<T>(~a) : std::make_unsigned_t<T>(a);
    if (v == 0) return 0xffff'ffffu;
    const int at = static_cast<int>(std::bit_width(v)) - 1;
    return kShift ? W(int(8 * sizeof(T)) - 1 - at) : W(at);
  }
};
// Positions and lengths are 0..255 in PTX. Beyond that hardware takes the low byte for 32-bit fields and
// clamps for 64-bit ones.
template <std::size_t kBytes>
int field_operand(W x) {
  return kBytes == 8 ? int(std::min<W>(x, 255)) : int(x & 0xff);
}
struct Bfe {
  template <class T>
  T operator()(T a, W b, W c) const {
    constexpr int kTop = 8 * sizeof(T) - 1;
    const int pos = field_operand<sizeof(T)>(b), len = field_operand<sizeof(T)>(c);
    const int sign_at = std::min(pos + len - 1, kTop);
    const bool sign = std::is_signed_v<T> && len > 0 && ((a >> sign_at) & 1) != 0;
    std::make_unsigned_t<T> r = 0;
    for (int k = 0; k <= kTop; ++k) {
      const bool bit = k < len && pos + k <= kTop ? ((a >> (pos + k)) & 1) != 0 : sign;
      if (bit) r |= std::make_unsigned_t<T>(1) << k;
    }
    return T(r);
  }
};
template <class T>
void bfi(Warp& w, const Inst& i, Mask lanes) {
  T* d = w.reg<T>(i.d);
  const T *a = w.reg<T>(i.a), *b = w.reg<T>(i.b);
  const W *c = w.reg<W>(i.c), *e = w.reg<W>(i.e);
  each_lane(lanes, [=](int l) {
    constexpr int kBits = 8 * sizeof(T);
    const int pos = field_operand<sizeof(T)>(c[l]), len = std::min(field_operand<sizeof(T)>(e[l]), kBits);
    const T ones = len >= kBits ? ~T(0) : T((T(1) << len) - 1);
    const T field = pos >= kBits ? T(0) : T(ones << pos);
    d[l] = T((b[l] & ~field) | (pos >= kBits ? T(0) : T((a[l] & ones) << pos)));
  });
}
template <bool kWrap>
struct Bmsk {
  W operator()(W a, W b) const {
    if (kWrap) a &= 31, b &= 31;
    if (a >= 32) return 0;
    const W ones = b >= 32 ? ~W{0} : (W{1} << b) - 1;
    return ones << a;
  }
};
template <bool kWrap, bool kSigned>
struct Szext {
  W operator()(W a, W n) const {
    if (kWrap) n &= 31;
    if (n >= 32) return a;
    if (n == 0) return 0;
    const W low = a & ((W{1} << n) - 1);
    return kSigned && ((a >> (n - 1)) & 1) != 0 ? low | ~((W{1} << n) - 1) : low;
  }
};
struct Fns {  // n-th set bit from `base`
  W operator()(W mask, W base, std::int32_t offset) const {
    if (offset == std::numeric_limits<std::int32_t>::min()) return 0;  // ptxas negates it, which leaves it as it is
    if (base > 31) return 0xffff'ffffu;
    if (offset == 0) return ((mask >> base) & 1) != 0 ? base : 0xffff'ffffu;
    const int step = offset > 0 ? 1 : -1;
    std::int64_t left = std::abs(std::int64_t{offset}) - 1;
    for (int at = int(base); at >= 0 && at < 32; at += step)
      if (((mask >> at) & 1) != 0 && left-- == 0) return W(at);
    return 0xffff'ffffu;
  }
};

W prmt(W a, W b, W selector, int mode) {
  const std::uint64_t bytes = std::uint64_t{b} << 32 | a;
  auto byte = [&](int n) { return W(bytes >> (8 * (n & 7))) & 0xff; };
  W r = 0;
  for (int k = 0; k < 4; ++k) {
    const int n = int(selector & 3);
    int pick = 0;
    switch (mode) {
      case 0: {  // default: 4 bits a byte, bit 3 replicates the sign
        const W nibble = (selector >> (4 * k)) & 0xf;
        W value = byte(int(nibble & 7));
        if ((nibble & 8) != 0) value = (value & 0x80) != 0 ? 0xff : 0;
        r |= value << (8 * k);
        continue;
      }
      case 1:
        pick = n + k;
        break;  // f4e
      case 2:
        pick = (n + 8 - k) & 7;
        break;  // b4e
      case 3:
        pick = n;
        break;  // rc8
      case 4:
        pick = std::max(k, n);
        break;  // ecl
      case 5:
        pick = std::min(k, n);
        break;  // ecr
      default:
        pick = (n & 1) * 2 + (k & 1);  // rc16
    }
    r |= byte(pick) << (8 * k);
  }
  return r;
}
void prmt_lanes(Warp& w, const Inst& i, Mask lanes) {
  W* d = w.reg<W>(i.d);
  const W *a = w.reg<W>(i.a), *b = w.reg<W>(i.b), *c = w.reg<W>(i.c);
  each_lane(lanes, [&](int l) { d[l] = prmt(a[l], b[l], c[l], i.mode); });
}
void lop3_lanes(Warp& w, const Inst& i, Mask lanes) {
  W* d = w.reg<W>(i.d);
  const W *a = w.reg<W>(i.a), *b = w.reg<W>(i.b), *c = w.reg<W>(i.c);
  W keep[8];
  for (int k = 0; k < 8; ++k) keep[k] = (i.imm >> k & 1) != 0 ? ~W{0} : 0;
  each_lane(lanes, [=](int l) {
    const W x = a[l], y = b[l], z = c[l];
    d[l] = (keep[0] & ~x & ~y & ~z) | (keep[1] & ~x & ~y & z) | (keep[2] & ~x & y & ~z) | (keep[3] & ~x & y & z) |
           (keep[4] & x & ~y & ~z) | (keep[5] & x & ~y & z) | (keep[6] & x & y & ~z) | (keep[7] & x & y & z);
  });
}

// lop3.and / .or: also p = (result != 0) op q. mode 1: and, 2: or; e: p; extra: q.
void lop3_test(Warp& w, const Inst& i, Mask lanes) {
  const W *a = w.reg<W>(i.a), *b = w.reg<W>(i.b), *c = w.reg<W>(i.c);
  W* d = i.d != kNoSlot ? w.reg<W>(i.d) : nullptr;
  Mask nonzero = 0;
  each_lane(lanes, [&](int l) {
    W result = 0;
    for (int k = 0; k < 8; ++k)
      if ((i.imm >> k & 1) != 0)
        result |= ((k & 4) != 0 ? a[l] : ~a[l]) & ((k & 2) != 0 ? b[l] : ~b[l]) & ((k & 1) != 0 ? c[l] : ~c[l]);
    if (d != nullptr) d[l] = result;
    nonzero |= Mask{result != 0} << l;
  });
  const Mask q = pred(w, i.extra);
  set_pred(w, i.e, lanes, i.mode == 1 ? nonzero & q : nonzero | q);
}

template <class Op>
Handler unsigned2(int bits) {
  return bits == 16   ? &map2<std::uint16_t, std::uint16_t, std::uint16_t, Op>
         : bits == 32 ? &map2<W, W, W, Op>
         : bits == 64 ? &map2<std::uint64_t, std::uint64_t, std::uint64_t, Op>
                      : static_cast<Handler>(nullptr);
}
template <class Op>
Handler unsigned1(int bits) {
  return bits == 16   ? &map1<std::uint16_t, std::uint16_t, Op>
         : bits == 32 ? &map1<W, W, Op>
         : bits == 64 ? &map1<std::uint64_t, std::uint64_t, Op>
                      : static_cast<Handler>(nullptr);
}

bool bind_shift(Binder& b) {
  const Type type = b.take_type();
  b.out.d = b.dest(0, bits_of(type));
  b.out.a = b.source(1, bits_of(type));
  b.out.b = b.source(2, 32);
  b.out.fn = for_integer(
      type, [&]<class T>() -> Handler { return b.op() == "shl" ? &map2<T, T, W, Shl> : &map2<T, T, W, Shr>; });
  return b.out.fn != nullptr;
}

bool bind_field(Binder& b) {
  const std::string_view op = b.op();
  const bool shift = b.take("shiftamt");
  const Type type = b.take_type();
  const int bits = bits_of(type);
  b.out.d = b.dest(0, op == "bfind" || op == "popc" || op == "clz" ? 32 : bits);
  b.out.a = b.source(1, bits);
  if (op == "bfe") b.out.b = b.source(2, 32), b.out.c = b.source(3, 32);
  b.out.fn = for_integer(type, [&]<class T>() -> Handler {
    using V = std::make_unsigned_t<T>;
    if constexpr (sizeof(T) == 2)
      return nullptr;
    else if (op == "popc")
      return &map1<W, V, Popc>;
    else if (op == "clz")
      return &map1<W, V, Clz>;
    else if (op == "brev")
      return &map1<V, V, Brev>;
    else if (op == "bfe")
      return &map3<T, T, W, W, Bfe>;
    else
      return shift ? &map1<W, T, Bfind<true>> : &map1<W, T, Bfind<false>>;
  });
  return b.out.fn != nullptr;
}

bool bind_mask(Binder& b) {  // bmsk, szext
  const bool wrap = b.take_one({"clamp", "wrap"}) == 1, s = is_signed(b.take_type());
  bind_slots(b, 32, 32, 2);
  if (b.op() == "bmsk")
    b.out.fn = wrap ? &map2<W, W, W, Bmsk<true>> : &map2<W, W, W, Bmsk<false>>;
  else
    b.out.fn = wrap ? (s ? &map2<W, W, W, Szext<true, true>> : &map2<W, W, W, Szext<true, false>>)
                    : (s ? &map2<W, W, W, Szext<false, true>> : &map2<W, W, W, Szext<false, false>>);
  return true;
}

}  // namespace

bool bind_bits(Binder& b) {
  const std::string_view op = b.op();
  if (op == "and" || op == "or" || op == "xor" || op == "not" || op == "cnot") {
    if (b.in.words.back() == "pred") return false;
    const int bits = bits_of(b.take_type());
    bind_slots(b, bits, bits, op == "not" || op == "cnot" ? 1 : 2);
    b.out.fn = op == "and"   ? unsigned2<And>(bits)
               : op == "or"  ? unsigned2<Or>(bits)
               : op == "xor" ? unsigned2<Xor>(bits)
               : op == "not" ? unsigned1<Not>(bits)
                             : unsigned1<Cnot>(bits);
    return b.out.fn != nullptr;
  }
  if (op == "shl" || op == "shr") return bind_shift(b);
  if (op == "popc" || op == "clz" || op == "brev" || op == "bfind" || op == "bfe") return bind_field(b);
  if (op == "bmsk" || op == "szext") return bind_mask(b);
  if (op == "shf") {
    const bool left = b.take_one({"r", "l"}) == 1, wrap = b.take_one({"clamp", "wrap"}) == 1;
    b.take_type();
    bind_slots(b, 32, 32, 3);
    b.out.fn = left ? (wrap ? &map3<W, W, W, W, Shf<true, true>> : &map3<W, W, W, W, Shf<true, false>>)
                    : (wrap ? &map3<W, W, W, W, Shf<false, true>> : &map3<W, W, W, W, Shf<false, false>>);
    return true;
  }
  if (op == "bfi") {
    const int bits = bits_of(b.take_type());
    b.out.d = b.dest(0, bits);
    b.out.a = b.source(1, bits);
    b.out.b = b.source(2, bits);
    b.out.c = b.source(3, 32);
    b.out.e = b.source(4, 32);
    b.out.fn = bits == 64 ? &bfi<std::uint64_t> : &bfi<W>;
    return true;
  }
  if (op == "fns") {
    b.take_type();
    bind_slots(b, 32, 32, 3);
    b.out.fn = &map3<W, W, W, std::int32_t, Fns>;
    return true;
  }
  if (op == "prmt") {
    b.take_type();
    b.out.mode = static_cast<std::uint8_t>(1 + b.take_one({"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"}));
    bind_slots(b, 32, 32, 3);
    b.out.fn = &prmt_lanes;
    return true;
  }
  if (op == "lop3") {
    const int test = b.take_one({"and", "or"});
    b.take_type();
    b.out.imm = static_cast<std::int64_t>(b.immediate(4));
    if (test < 0) {
      bind_slots(b, 32, 32, 3);
      b.out.fn = &lop3_lanes;
      return true;
    }
    const Operand& target = b.operand(0);
    if (target.kind != Operand::Kind::kPair) return false;
    if (target.parts[0].kind != Operand::Kind::kSink) b.out.d = b.dest(target.parts[0], 32);
    b.out.a = b.source(1, 32);
    b.out.b = b.source(2, 32);
    b.out.c = b.source(3, 32);
    b.out.e = b.pred_dest(target.parts[1]);
    b.out.extra = b.pred_source(b.operand(5));
    b.out.mode = static_cast<std::uint8_t>(test + 1);
    b.out.fn = &lop3_test;
    return true;
  }
  return false;
}

}  // namespace kf::emulator
