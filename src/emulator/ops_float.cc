// SPDX-License-Identifier: Apache-2.0
// f32 and f64 arithmetic: PTX ISA 9.0 section 9.7.3. Compiled without contraction.
#include <cfenv>
#include <cmath>

#include "floating.h"
#include "lanes.h"

namespace kf::emulator {
namespace {

constexpr int kHostRound[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};

template <bool kSat>
float finish(float x) {
  return kSat ? saturate(x) : canonical(x);
}

template <bool kFtz, bool kSat>
struct Add32 {
  float operator()(float a, float b) const {
    return finish<kSat>(flush_if<kFtz>(flush_if<kFtz>(a) + flush_if<kFtz>(b)));
  }
};
template <bool kFtz, bool kSat>
struct Sub32 {
  float operator()(float a, float b) const {
    return finish<kSat>(flush_if<kFtz>(flush_if<kFtz>(a) - flush_if<kFtz>(b)));
  }
};
template <bool kFtz, bool kSat>
struct Mul32 {
  float operator()(float a, float b) const {
    return finish<kSat>(flush_if<kFtz>(flush_if<kFtz>(a) * flush_if<kFtz>(b)));
  }
};
template <bool kFtz, bool kSat>
struct Fma32 {
  float operator()(float a, float b, float c) const {
    return finish<kSat>(flush_if<kFtz>(std::fma(flush_if<kFtz>(a), flush_if<kFtz>(b), flush_if<kFtz>(c))));
  }
};
// With .ftz a quotient that is tiny before rounding is flushed, even where a directed rounding would reach 2^-126.
template <bool kFtz, bool kSat>
struct Div32 {
  float operator()(float a, float b) const {
    a = flush_if<kFtz>(a), b = flush_if<kFtz>(b);
    const float r = a / b;
    if (kFtz && std::fabs(static_cast<double>(a) / static_cast<double>(b)) < 0x1p-126) return std::copysign(0.0f, r);
    return canonical(r);
  }
};

// The plain case gets the machine's own fused multiply-add where it has one.
#if defined(__x86_64__) && !defined(KF_SANITIZED)
__attribute__((target_clones("default", "arch=haswell")))
#endif
void fma_all(float* d, const float* a, const float* b, const float* c) {
#ifndef __clang__
#pragma GCC ivdep
#endif
  for (int l = 0; l < kLanes; ++l) {
    const float r = __builtin_fmaf(a[l], b[l], c[l]);
    d[l] = r != r ? std::bit_cast<float>(kNan32) : r;
  }
}
void fma32(Warp& w, const Inst& i, Mask lanes) {
  if (lanes == kAllLanes) return fma_all(w.reg<float>(i.d), w.reg<float>(i.a), w.reg<float>(i.b), w.reg<float>(i.c));
  map3<float, float, float, float, Fma32<false, false>>(w, i, lanes);
}

// f64 keeps NaN payloads: the last NaN operand wins and becomes quiet (measured on an H200). Division follows the
// host, which agrees.
double quiet(double x) {
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) | std::uint64_t{1} << 51);
}
double nan_of(double r, double a, double b) {
  return r == r ? r : b != b ? quiet(b) : a != a ? quiet(a) : r;
}
struct Add64 {
  double operator()(double a, double b) const { return nan_of(a + b, a, b); }
};
struct Sub64 {
  double operator()(double a, double b) const { return nan_of(a - b, a, b); }
};
struct Mul64 {
  double operator()(double a, double b) const { return nan_of(a * b, a, b); }
};
struct Div64 {
  double operator()(double a, double b) const { return a / b; }
};
struct Fma64 {
  double operator()(double a, double b, double c) const {
    const double r = std::fma(a, b, c);
    return nan_of(r, b != b || c == c ? a : c, b);  // b, then c, then a
  }
};

// Directed roundings run the same handler under the host's rounding mode.
template <Handler kInner>
void rounded(Warp& w, const Inst& i, Mask lanes) {
  std::fesetround(kHostRound[i.mode]);
  kInner(w, i, lanes);
  std::fesetround(FE_TONEAREST);
}
template <Handler kInner>
Handler with_mode(const Binder& b) {
  return b.out.mode == 0 ? kInner : &rounded<kInner>;
}

template <template <bool, bool> class Op>
Handler two32(const Binder& b, bool ftz, bool sat) {
  if (ftz)
    return sat ? with_mode<&map2<float, float, float, Op<true, true>>>(b)
               : with_mode<&map2<float, float, float, Op<true, false>>>(b);
  return sat ? with_mode<&map2<float, float, float, Op<false, true>>>(b)
             : with_mode<&map2<float, float, float, Op<false, false>>>(b);
}
template <template <bool, bool> class Op>
Handler three32(const Binder& b, bool ftz, bool sat) {
  using F = float;
  if (ftz)
    return sat ? with_mode<&map3<F, F, F, F, Op<true, true>>>(b) : with_mode<&map3<F, F, F, F, Op<true, false>>>(b);
  return sat ? with_mode<&map3<F, F, F, F, Op<false, true>>>(b) : with_mode<&map3<F, F, F, F, Op<false, false>>>(b);
}

// min, max: a number wins over NaN unless .NaN; -0 is below +0.
template <class T>
bool negative(T x) {
  return std::signbit(x);
}
template <class T, bool kMax>
T pick(T a, T b) {
  if (a != a) return b;
  if (b != b) return a;
  if (a == b) return negative(a) == kMax ? b : a;
  return (a < b) == kMax ? b : a;
}
enum : std::uint8_t { kFtzBit = 1, kNanBit = 2, kXorSignBit = 4 };
template <bool kMax>
void min_max32(Warp& w, const Inst& i, Mask lanes) {
  float* d = w.reg<float>(i.d);
  const float *a = w.reg<float>(i.a), *b = w.reg<float>(i.b);
  each_lane(lanes, [&](int l) {
    float x = a[l], y = b[l];
    if ((i.mode & kFtzBit) != 0) x = flush(x), y = flush(y);
    const std::uint32_t sign = (bits_of_float(x) ^ bits_of_float(y)) & 0x8000'0000u;
    if ((i.mode & kXorSignBit) != 0) x = std::fabs(x), y = std::fabs(y);
    float r =
        (i.mode & kNanBit) != 0 && (x != x || y != y) ? float_of_bits(kNan32) : canonical(pick<float, kMax>(x, y));
    if ((i.mode & kXorSignBit) != 0 && r == r) r = float_of_bits(bits_of_float(r) | sign);
    d[l] = r;
  });
}
template <bool kMax>
struct MinMax64 {
  double operator()(double a, double b) const {
    const double r = pick<double, kMax>(a, b);
    return r != r ? quiet(r) : r;
  }
};

struct Abs64 {
  double operator()(double a) const { return a != a ? quiet(a) : std::fabs(a); }
};
struct Neg64 {
  double operator()(double a) const { return a != a ? quiet(a) : -a; }
};
template <bool kFtz>
struct Abs32 {
  float operator()(float a) const { return canonical(std::fabs(flush_if<kFtz>(a))); }
};
template <bool kFtz>
struct Neg32 {
  float operator()(float a) const { return canonical(-flush_if<kFtz>(a)); }
};

bool bind_arithmetic(Binder& b, Type type, int sources) {
  const std::string_view op = b.op();
  const int round = b.take_one({"rn", "rz", "rm", "rp"});
  const bool ftz = b.take("ftz"), sat = b.take("sat");
  b.out.mode = static_cast<std::uint8_t>(std::max(round, 0));
  bind_slots(b, bits_of(type), bits_of(type), sources);
  Handler& fn = b.out.fn;
  if (type == Type::kF32) {
    if (op == "add") fn = two32<Add32>(b, ftz, sat);
    if (op == "sub") fn = two32<Sub32>(b, ftz, sat);
    if (op == "mul") fn = two32<Mul32>(b, ftz, sat);
    if (op == "fma" || op == "mad") fn = round <= 0 && !ftz && !sat ? &fma32 : three32<Fma32>(b, ftz, sat);
    if (op == "div") fn = two32<Div32>(b, ftz, false);
    if (op == "div" && sat) b.refuse(".sat on div");
  } else {
    if (ftz || sat) b.refuse(".ftz and .sat are for f32");
    if (op == "add") fn = with_mode<&map2<double, double, double, Add64>>(b);
    if (op == "sub") fn = with_mode<&map2<double, double, double, Sub64>>(b);
    if (op == "mul") fn = with_mode<&map2<double, double, double, Mul64>>(b);
    if (op == "fma" || op == "mad") fn = with_mode<&map3<double, double, double, double, Fma64>>(b);
    if (op == "div") fn = with_mode<&map2<double, double, double, Div64>>(b);
  }
  return fn != nullptr;
}

}  // namespace

bool bind_float(Binder& b) {
  const std::string_view op = b.op();
  const Type type = type_from(b.in.words.back());
  if (type != Type::kF32 && type != Type::kF64) return false;
  if (op == "div" && (b.in.has("approx") || b.in.has("full"))) return false;
  if (op == "add" || op == "sub" || op == "mul" || op == "div" || op == "fma" || op == "mad") {
    if (b.in.words.size() > 2 && type_from(b.in.words[b.in.words.size() - 2]) != Type::kNone) return false;
    b.take_type();
    return bind_arithmetic(b, type, op == "fma" || op == "mad" ? 3 : 2);
  }
  if (op == "min" || op == "max") {
    b.take_type();
    bind_slots(b, bits_of(type), bits_of(type), 2);
    const bool max = op == "max";
    if (type == Type::kF64) {
      b.out.fn = max ? &map2<double, double, double, MinMax64<true>> : &map2<double, double, double, MinMax64<false>>;
      return true;
    }
    if (b.take("ftz")) b.out.mode |= kFtzBit;
    if (b.take("NaN")) b.out.mode |= kNanBit;
    if (b.take("xorsign") && b.take("abs")) b.out.mode |= kXorSignBit;
    b.out.fn = max ? &min_max32<true> : &min_max32<false>;
    return true;
  }
  if (op == "abs" || op == "neg") {
    b.take_type();
    const bool ftz = b.take("ftz"), abs = op == "abs";
    bind_slots(b, bits_of(type), bits_of(type), 1);
    using D = double;
    if (type == Type::kF64)
      b.out.fn = abs ? &map1<D, D, Abs64> : &map1<D, D, Neg64>;
    else if (abs)
      b.out.fn = ftz ? &map1<float, float, Abs32<true>> : &map1<float, float, Abs32<false>>;
    else
      b.out.fn = ftz ? &map1<float, float, Neg32<true>> : &map1<float, float, Neg32<false>>;
    return true;
  }
  return false;
}

}  // namespace kf::emulator
