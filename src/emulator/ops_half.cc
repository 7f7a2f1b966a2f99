// SPDX-License-Identifier: Apache-2.0
// f16 and bf16 arithmetic, single and in pairs: PTX ISA 9.0 section 9.7.4.
#include <cmath>

#include "floating.h"
#include "lanes.h"

namespace kf::emulator {
namespace {

using H = std::uint16_t;
using P = std::uint32_t;

// Sums and products of two such numbers are computed in float or double and rounded once more; both are
// wide enough that the two roundings equal one (24 >= 2 * 11 + 2; products of 16 bits are exact in double).
struct F16 {
  static float wide(H x) { return half_to_float(x); }
  static H narrow(float x) { return float_to_half(x); }
  static H narrow(double x) { return static_cast<H>(Half::encode(x)); }
  static constexpr H kTiny = 0x7c00, kOne = 0x3c00;
  static H product(H a, H b) { return narrow(wide(a) * wide(b)); }
};
struct B16 {
  static float wide(H x) { return bfloat_to_float(x); }
  static H narrow(float x) { return float_to_bfloat(x); }
  static H narrow(double x) { return static_cast<H>(Bfloat::encode(x)); }
  static constexpr H kTiny = 0x7f80, kOne = 0x3f80;
  static H product(H a, H b) { return narrow(double{wide(a)} * double{wide(b)}); }
};

enum : std::uint8_t { kFtz = 1, kSat = 2, kRelu = 4, kNan = 8, kXorSign = 16, kOob = 32 };

template <class F>
H flush16(H x) {
  return (x & F::kTiny) == 0 ? H(x & 0x8000) : x;
}
template <class F>
bool is_nan(H x) {
  return (x & 0x7fff) > F::kTiny;
}
template <class F>
H finish(H r, int mode) {
  if ((mode & kFtz) != 0) r = flush16<F>(r);
  if ((mode & kSat) != 0) return is_nan<F>(r) || (r & 0x8000) != 0 ? H(0) : r > F::kOne ? F::kOne : r;
  if ((mode & kRelu) != 0 && !is_nan<F>(r) && (r & 0x8000) != 0) return 0;
  return r;
}

struct Add {
  template <class F>
  static H apply(H a, H b) {
    return F::narrow(F::wide(a) + F::wide(b));
  }
};
struct Sub {
  template <class F>
  static H apply(H a, H b) {
    return F::narrow(F::wide(a) - F::wide(b));
  }
};
struct Mul {
  template <class F>
  static H apply(H a, H b) {
    return F::product(a, b);
  }
};

template <class F, class Op>
H two(H a, H b, int mode) {
  if ((mode & kFtz) != 0) a = flush16<F>(a), b = flush16<F>(b);
  return finish<F>(Op::template apply<F>(a, b), mode);
}
// fma.oob gives +0 where a factor is the NaN that a tensor map fills in outside of its tensor, of either sign; the
// third operand does not count. The bits are those that others found on Hopper; no NaN recorded on an H200 counts.
constexpr H kOutside = 0x7ff7;
bool outside(H x) {
  return (x & 0x7fff) == kOutside;
}
template <class F>
H fma16(H a, H b, H c, int mode) {
  if ((mode & kOob) != 0 && (outside(a) || outside(b))) return 0;
  if ((mode & kFtz) != 0) a = flush16<F>(a), b = flush16<F>(b), c = flush16<F>(c);
  return finish<F>(F::narrow(fma_to_odd(F::wide(a), F::wide(b), F::wide(c))), mode);
}
template <class F, bool kMax>
H min_max(H a, H b, int mode) {
  if ((mode & kFtz) != 0) a = flush16<F>(a), b = flush16<F>(b);
  const H sign = H((a ^ b) & 0x8000);
  if ((mode & kXorSign) != 0) a &= 0x7fff, b &= 0x7fff;
  if (is_nan<F>(a) || is_nan<F>(b)) {
    if ((mode & kNan) != 0 || (is_nan<F>(a) && is_nan<F>(b))) return kNan16;
    const H r = is_nan<F>(a) ? b : a;
    return (mode & kXorSign) != 0 ? H(r | sign) : r;
  }
  auto key = [](H x) { return (x & 0x8000) != 0 ? -int{x & 0x7fff} - 1 : int{x}; };
  const H r = (key(a) < key(b)) == kMax ? b : a;
  return (mode & kXorSign) != 0 ? H(r | sign) : r;
}

using Two = H (*)(H, H, int);
template <Two kOp>
void half2(Warp& w, const Inst& i, Mask lanes) {
  H* d = w.reg<H>(i.d);
  const H *a = w.reg<H>(i.a), *b = w.reg<H>(i.b);
  each_lane(lanes, [&](int l) { d[l] = kOp(a[l], b[l], i.mode); });
}
template <Two kOp>
void pair2(Warp& w, const Inst& i, Mask lanes) {
  P* d = w.reg<P>(i.d);
  const P *a = w.reg<P>(i.a), *b = w.reg<P>(i.b);
  each_lane(lanes, [&](int l) {
    const P x = a[l], y = b[l];
    d[l] = P{kOp(H(x), H(y), i.mode)} | P{kOp(H(x >> 16), H(y >> 16), i.mode)} << 16;
  });
}
template <class F>
void half_fma(Warp& w, const Inst& i, Mask lanes) {
  H* d = w.reg<H>(i.d);
  const H *a = w.reg<H>(i.a), *b = w.reg<H>(i.b), *c = w.reg<H>(i.c);
  each_lane(lanes, [&](int l) { d[l] = fma16<F>(a[l], b[l], c[l], i.mode); });
}
template <class F>
void pair_fma(Warp& w, const Inst& i, Mask lanes) {
  P* d = w.reg<P>(i.d);
  const P *a = w.reg<P>(i.a), *b = w.reg<P>(i.b), *c = w.reg<P>(i.c);
  each_lane(lanes, [&](int l) {
    const P x = a[l], y = b[l], z = c[l];
    d[l] = P{fma16<F>(H(x), H(y), H(z), i.mode)} | P{fma16<F>(H(x >> 16), H(y >> 16), H(z >> 16), i.mode)} << 16;
  });
}
template <class F, bool kAbs>
H sign16(H a, H, int mode) {
  if ((mode & kFtz) != 0) a = flush16<F>(a);
  if (is_nan<F>(a)) return kNan16;
  return kAbs ? H(a & 0x7fff) : H(a ^ 0x8000);
}

template <class F>
Handler choose(std::string_view op, bool pair) {
  if (op == "add") return pair ? &pair2<&two<F, Add>> : &half2<&two<F, Add>>;
  if (op == "sub") return pair ? &pair2<&two<F, Sub>> : &half2<&two<F, Sub>>;
  if (op == "mul") return pair ? &pair2<&two<F, Mul>> : &half2<&two<F, Mul>>;
  if (op == "min") return pair ? &pair2<&min_max<F, false>> : &half2<&min_max<F, false>>;
  if (op == "max") return pair ? &pair2<&min_max<F, true>> : &half2<&min_max<F, true>>;
  if (op == "abs") return pair ? &pair2<&sign16<F, true>> : &half2<&sign16<F, true>>;
  if (op == "neg") return pair ? &pair2<&sign16<F, false>> : &half2<&sign16<F, false>>;
  if (op == "fma") return pair ? &pair_fma<F> : &half_fma<F>;
  return nullptr;
}

}  // namespace

bool bind_half(Binder& b) {
  const Type type = type_from(b.in.words.back());
  const bool pair = type == Type::kF16x2 || type == Type::kBf16x2;
  const bool bf = type == Type::kBf16 || type == Type::kBf16x2;
  if (!pair && type != Type::kF16 && type != Type::kBf16) return false;
  const Handler fn = bf ? choose<B16>(b.op(), pair) : choose<F16>(b.op(), pair);
  if (fn == nullptr) return false;
  b.take_type();
  if (b.take_one({"rn", "rz", "rm", "rp"}) > 0)
    b.refuse(b.op() == "fma" && bf
                 ? "PTX has no directed rounding of bf16; ptxas 13.0 accepts it, but computes an fma of "
                   "f16 (one number) or rounds to nearest (pairs)"
                 : "this rounding");
  if (b.take("oob")) b.out.mode |= kOob;
  if (b.take("ftz")) b.out.mode |= kFtz;
  if (b.take("sat")) b.out.mode |= kSat;
  if (b.take("relu")) b.out.mode |= kRelu;
  if (b.take("NaN")) b.out.mode |= kNan;
  if (b.take("xorsign") && b.take("abs")) b.out.mode |= kXorSign;
  const bool one = b.op() == "abs" || b.op() == "neg";
  bind_slots(b, bits_of(type), bits_of(type), one ? 1 : b.op() == "fma" ? 3 : 2);
  if (one) b.out.b = b.out.a;
  b.out.fn = fn;
  return true;
}

}  // namespace kf::emulator
