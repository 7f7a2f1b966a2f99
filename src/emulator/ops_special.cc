// SPDX-License-Identifier: Apache-2.0
// Division, roots, exponentials and trigonometry. Approximate forms are evaluated in double and rounded
// once, which lies inside every error bound that PTX ISA 9.0 (9.7.3, 9.7.4) documents.
#include <cfenv>
#include <cmath>

#include "floating.h"
#include "lanes.h"

namespace kf::emulator {
namespace {

constexpr int kHostRound[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};

struct Rcp {
  double operator()(double a) const { return 1.0 / a; }
};
struct Sqrt {
  double operator()(double a) const { return std::sqrt(a); }
};
struct Rsqrt {
  double operator()(double a) const { return 1.0 / std::sqrt(a); }
};
struct Sin {
  double operator()(double a) const { return std::sin(a); }
};
struct Cos {
  double operator()(double a) const { return std::cos(a); }
};
struct Lg2 {
  double operator()(double a) const { return std::log2(a); }
};
struct Ex2 {
  double operator()(double a) const { return std::exp2(a); }
};
struct Tanh {
  double operator()(double a) const { return std::tanh(a); }
};

template <class Op, bool kFtz>
struct Approximate {
  float operator()(float a) const {
    return canonical(flush_if<kFtz>(static_cast<float>(Op{}(static_cast<double>(flush_if<kFtz>(a))))));
  }
};
template <class Op, bool kFtz>
struct Exact32 {  // 1 / a and sqrt(a) in the host's rounding mode
  float operator()(float a) const {
    a = flush_if<kFtz>(a);
    if constexpr (std::is_same_v<Op, Rcp>)
      return canonical(flush_if<kFtz>(1.0f / a));
    else
      return canonical(flush_if<kFtz>(std::sqrt(a)));
  }
};
// div.approx.f32: 0 for divisors in (2^126, 2^128), as documented (inf / such a divisor is NaN).
template <bool kFtz, bool kFull>
struct DivApprox {
  float operator()(float a, float b) const {
    a = flush_if<kFtz>(a), b = flush_if<kFtz>(b);
    if (!kFull && std::fabs(b) > 0x1p126f && std::isfinite(b)) {
      if (!std::isfinite(a)) return float_of_bits(kNan32);
      return std::copysign(0.0f, a * (b > 0 ? 1.0f : -1.0f));
    }
    return canonical(flush_if<kFtz>(a / b));
  }
};
// rcp.approx.ftz.f64, rsqrt.approx.ftz.f64: the upper 32 bits only.
template <class Op>
struct Upper64 {
  std::uint64_t operator()(double a) const {
    if (std::fpclassify(a) == FP_SUBNORMAL) a = std::copysign(0.0, a);
    double r = Op{}(a);
    if (std::fpclassify(r) == FP_SUBNORMAL) r = std::copysign(0.0, r);
    return std::bit_cast<std::uint64_t>(r) & 0xffff'ffff'0000'0000u;
  }
};
template <class Op>
struct OnHalf {
  std::uint16_t operator()(std::uint16_t a) const {
    return static_cast<std::uint16_t>(Half::encode(Op{}(Half::decode(a))));
  }
};
template <class Op>
struct OnBfloat {
  std::uint16_t operator()(std::uint16_t a) const {
    return static_cast<std::uint16_t>(Bfloat::encode(Op{}(static_cast<double>(bfloat_to_float(a)))));
  }
};
template <class One>
struct Twice {
  std::uint32_t operator()(std::uint32_t a) const {
    return std::uint32_t{One{}(static_cast<std::uint16_t>(a))} |
           std::uint32_t{One{}(static_cast<std::uint16_t>(a >> 16))} << 16;
  }
};

template <Handler kInner>
void rounded(Warp& w, const Inst& i, Mask lanes) {
  std::fesetround(kHostRound[i.mode]);
  kInner(w, i, lanes);
  std::fesetround(FE_TONEAREST);
}

template <class Op>
bool approximate(Binder& b, Type type) {
  const bool ftz = b.take("ftz");
  using H = std::uint16_t;
  using P = std::uint32_t;
  bind_slots(b, bits_of(type), bits_of(type), 1);
  switch (type) {
    case Type::kF32:
      b.out.fn = ftz ? &map1<float, float, Approximate<Op, true>> : &map1<float, float, Approximate<Op, false>>;
      break;
    case Type::kF16:
      b.out.fn = &map1<H, H, OnHalf<Op>>;
      break;
    case Type::kBf16:
      b.out.fn = &map1<H, H, OnBfloat<Op>>;
      break;
    case Type::kF16x2:
      b.out.fn = &map1<P, P, Twice<OnHalf<Op>>>;
      break;
    case Type::kBf16x2:
      b.out.fn = &map1<P, P, Twice<OnBfloat<Op>>>;
      break;
    case Type::kF64:
      if constexpr (std::is_same_v<Op, Rcp> || std::is_same_v<Op, Rsqrt>)
        b.out.fn = &map1<std::uint64_t, double, Upper64<Op>>;
      break;
    default:
      break;
  }
  return b.out.fn != nullptr;
}

template <class Op>
bool exact(Binder& b, Type type) {
  b.out.mode = static_cast<std::uint8_t>(std::max(b.take_one({"rn", "rz", "rm", "rp"}), 0));
  const bool ftz = b.take("ftz");
  bind_slots(b, bits_of(type), bits_of(type), 1);
  if (type == Type::kF32)
    b.out.fn =
        ftz ? &rounded<&map1<float, float, Exact32<Op, true>>> : &rounded<&map1<float, float, Exact32<Op, false>>>;
  if (type == Type::kF64) b.out.fn = &rounded<&map1<double, double, Op>>;
  return b.out.fn != nullptr;
}

bool bind_div_approx(Binder& b) {
  const bool full = b.take("full") || !b.take("approx"), ftz = b.take("ftz");
  b.take_type();
  bind_slots(b, 32, 32, 2);
  using F = float;
  b.out.fn = full ? (ftz ? &map2<F, F, F, DivApprox<true, true>> : &map2<F, F, F, DivApprox<false, true>>)
                  : (ftz ? &map2<F, F, F, DivApprox<true, false>> : &map2<F, F, F, DivApprox<false, false>>);
  return true;
}

template <class T>
Mask test(const T* a, Mask lanes, int what) {
  Mask result = 0;
  each_lane(lanes, [&](int l) {
    const int kind = std::fpclassify(a[l]);
    const bool yes = what == 0   ? kind != FP_INFINITE && kind != FP_NAN
                     : what == 1 ? kind == FP_INFINITE
                     : what == 2 ? kind != FP_NAN
                     : what == 3 ? kind == FP_NAN
                     : what == 4 ? kind == FP_NORMAL || kind == FP_ZERO
                                 : kind == FP_SUBNORMAL;
    result |= Mask{yes} << l;
  });
  return result;
}
template <class T>
void testp(Warp& w, const Inst& i, Mask lanes) {
  set_pred(w, i.d, lanes, test(w.reg<T>(i.a), lanes, i.mode));
}
template <class T, int kSign>
struct CopySign {  // sign of a, rest of b
  T operator()(T a, T b) const { return T((a & (T(1) << kSign)) | (b & ~(T(1) << kSign))); }
};

}  // namespace

bool bind_special(Binder& b) {
  const std::string_view op = b.op();
  if (op == "div") {
    if (b.in.words.back() != "f32" || (!b.in.has("approx") && !b.in.has("full"))) return false;
    return bind_div_approx(b);
  }
  if (op == "testp") {
    const int what = b.take_one({"finite", "infinite", "number", "notanumber", "normal", "subnormal"});
    const Type type = b.take_type();
    b.out.mode = static_cast<std::uint8_t>(what);
    b.out.d = b.pred_dest(b.operand(0));
    b.out.a = b.source(1, bits_of(type));
    b.out.fn = type == Type::kF64 ? &testp<double> : &testp<float>;
    return what >= 0;
  }
  if (op == "copysign") {
    const Type type = b.take_type();
    bind_slots(b, bits_of(type), bits_of(type), 2);
    using P = std::uint32_t;
    using D = std::uint64_t;
    b.out.fn = type == Type::kF64 ? &map2<D, D, D, CopySign<D, 63>> : &map2<P, P, P, CopySign<P, 31>>;
    return true;
  }
  if (op != "rcp" && op != "sqrt" && op != "rsqrt" && op != "sin" && op != "cos" && op != "lg2" && op != "ex2" &&
      op != "tanh")
    return false;
  const bool approx = b.take("approx");
  const Type type = b.take_type();
  if (op == "rcp") return approx ? approximate<Rcp>(b, type) : exact<Rcp>(b, type);
  if (op == "sqrt") return approx ? approximate<Sqrt>(b, type) : exact<Sqrt>(b, type);
  if (!approx) return false;
  if (op == "rsqrt") return approximate<Rsqrt>(b, type);
  if (op == "sin") return approximate<Sin>(b, type);
  if (op == "cos") return approximate<Cos>(b, type);
  if (op == "lg2") return approximate<Lg2>(b, type);
  if (op == "ex2") return approximate<Ex2>(b, type);
  return approximate<Tanh>(b, type);
}

}  // namespace kf::emulator
