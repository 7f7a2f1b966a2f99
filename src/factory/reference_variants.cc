// SPDX-License-Identifier: Apache-2.0
// The spec's reference compiled otherwise, from the same text: in float32, and for wider inputs.
#include <algorithm>

#include "jobs.h"

namespace kf {
namespace {

constexpr std::string_view kFloat32 = "#define double float\n";

// A float32 number whose sums are kept in two parts that take terms in turns: another order of the same additions. It
// is as large as a double, so that arrays and outputs keep their places. Converts from every number by itself, to a
// number only when asked, so that `c ? sum : 0.0` has one meaning.
constexpr std::string_view kFloat32Pairs = R"(struct alignas(8) kf_pair {
  float other, last;
  kf_pair() = default;
  template <class V> __device__ constexpr kf_pair(V v) : other(0.0f), last(static_cast<float>(v)) {}
  __device__ float kf_value() const { return other + last; }
  template <class V> __device__ explicit operator V() const { return static_cast<V>(kf_value()); }
  __device__ kf_pair& kf_add(float v) { const float turn = other; other = last; last = turn + v; return *this; }
  __device__ kf_pair& operator+=(kf_pair v) { return kf_add(v.kf_value()); }
  __device__ kf_pair& operator-=(kf_pair v) { return kf_add(-v.kf_value()); }
  __device__ kf_pair& operator*=(kf_pair v) { return *this = kf_pair(kf_value() * v.kf_value()); }
  __device__ kf_pair& operator/=(kf_pair v) { return *this = kf_pair(kf_value() / v.kf_value()); }
  friend __device__ kf_pair operator-(kf_pair v) { return kf_pair(-v.kf_value()); }
  friend __device__ kf_pair operator+(kf_pair a, kf_pair b) { a += b; return a; }
  friend __device__ kf_pair operator-(kf_pair a, kf_pair b) { a -= b; return a; }
  friend __device__ kf_pair operator*(kf_pair a, kf_pair b) { return kf_pair(a.kf_value() * b.kf_value()); }
  friend __device__ kf_pair operator/(kf_pair a, kf_pair b) { return kf_pair(a.kf_value() / b.kf_value()); }
#define KF_COMPARISON(op) \
  friend __device__ bool operator op(kf_pair a, kf_pair b) { return a.kf_value() op b.kf_value(); }
  KF_COMPARISON(<) KF_COMPARISON(<=) KF_COMPARISON(>) KF_COMPARISON(>=) KF_COMPARISON(==) KF_COMPARISON(!=)
#define KF_UNARY(name) \
  friend __device__ kf_pair name(kf_pair a) { return kf_pair(::name##f(a.kf_value())); }
  KF_UNARY(sqrt) KF_UNARY(rsqrt) KF_UNARY(cbrt) KF_UNARY(exp) KF_UNARY(exp2) KF_UNARY(exp10) KF_UNARY(expm1)
  KF_UNARY(log) KF_UNARY(log2) KF_UNARY(log10) KF_UNARY(log1p) KF_UNARY(sin) KF_UNARY(cos) KF_UNARY(tan) KF_UNARY(tanh)
  KF_UNARY(erf) KF_UNARY(erfc) KF_UNARY(ceil) KF_UNARY(floor) KF_UNARY(rint) KF_UNARY(round) KF_UNARY(trunc)
  KF_UNARY(fabs)
  friend __device__ kf_pair abs(kf_pair a) { return kf_pair(::fabsf(a.kf_value())); }
#define KF_BINARY(name, f) \
  friend __device__ kf_pair name(kf_pair a, kf_pair b) { return kf_pair(::f(a.kf_value(), b.kf_value())); }
  KF_BINARY(fmax, fmaxf) KF_BINARY(fmin, fminf) KF_BINARY(max, fmaxf) KF_BINARY(min, fminf) KF_BINARY(pow, powf)
  KF_BINARY(fmod, fmodf) KF_BINARY(copysign, copysignf) KF_BINARY(hypot, hypotf)
  friend __device__ kf_pair fma(kf_pair a, kf_pair b, kf_pair c) { return c += kf_pair(a.kf_value() * b.kf_value()); }
  friend __device__ bool isnan(kf_pair a) { return a.kf_value() != a.kf_value(); }
  friend __device__ bool isinf(kf_pair a) { return ::fabsf(a.kf_value()) == INFINITY; }
  friend __device__ bool isfinite(kf_pair a) { return ::fabsf(a.kf_value()) < INFINITY; }
#define KF_SHUFFLE(f, V) \
  friend __device__ kf_pair f(unsigned mask, kf_pair a, V lane, int width = 32) { \
    return kf_pair(::f(mask, a.kf_value(), lane, width)); }
  KF_SHUFFLE(__shfl_sync, int) KF_SHUFFLE(__shfl_xor_sync, int)
  KF_SHUFFLE(__shfl_up_sync, unsigned) KF_SHUFFLE(__shfl_down_sync, unsigned)
  friend __device__ kf_pair atomicAdd(kf_pair* to, kf_pair v) { return kf_pair(::atomicAdd(&to->last, v.kf_value())); }
};
#define double kf_pair
)";

std::string_view prelude_of(ReferenceVariant::Kind kind) {
  return kind == ReferenceVariant::Kind::kFloat32        ? kFloat32
         : kind == ReferenceVariant::Kind::kFloat32Pairs ? kFloat32Pairs
                                                         : std::string_view();
}

bool is_narrow(Dtype dtype) {
  return is_floating(dtype) && size_in_bytes(dtype) < 4;
}

// The case with float32 in place of narrower types. An error where a type is fixed: the reference's text names it.
OrError<Case> widened(const Spec& spec, Case of) {
  for (auto& [name, dtype] : of.types) {
    dtype = is_narrow(dtype) ? Dtype::kFloat32 : dtype;
  }
  for (Tensor& tensor : of.tensors) {
    const auto declared = std::ranges::find(spec.tensors, tensor.name, &TensorSpec::name);
    const auto type = declared == spec.tensors.end() ? of.types.end() : of.types.find(declared->dtype);
    if (type != of.types.end()) {
      tensor.dtype = type->second;
    } else if (is_narrow(tensor.dtype) && tensor.role == TensorRole::kInput) {
      return std::unexpected(
          Error{"", tensor.name + " is " + std::string(to_string(tensor.dtype)) + ", not of one of the spec's types",
                "give its dtype a name in \"types\""});
    }
  }
  return of;
}

// The case, or of a large one so many indices of the slices' axis as are small enough to be moved on the host; nullopt:
// there are none.
std::optional<Case> window_of(const Spec& spec, const Case& of) {
  constexpr std::int64_t kWhole = 64LL << 20, kWindow = 512LL << 10;  // bytes
  const std::string& axis = spec.reference.slice;
  if (bytes_of(of) <= kWhole) {
    return of;
  }
  const auto whole = of.axes.find(axis);
  if (whole == of.axes.end() || whole->second <= 0) {
    return std::nullopt;
  }
  const std::int64_t extent = std::max<std::int64_t>(1, whole->second * kWindow / bytes_of(of));
  OrError<Case> window = narrowed(spec, of, axis, extent);
  return window && bytes_of(*window) <= kWhole ? std::optional(*std::move(window)) : std::nullopt;
}

std::string first_lines(const std::string& log) {
  const std::size_t end = log.find('\n', log.find('\n') == std::string::npos ? 0 : log.find('\n') + 1);
  std::string text = log.substr(0, std::min<std::size_t>(end, 300));
  std::ranges::replace(text, '\n', ' ');
  return text;
}

}  // namespace

ReferenceVariant JobBuilder::variant(ReferenceVariant::Kind kind, const std::vector<Case>& cases, std::size_t count,
                                     const std::stop_token& stop) {
  ReferenceVariant made;
  made.kind = kind;
  const bool wide = kind == ReferenceVariant::Kind::kWideInputs;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (i >= count) {
      made.arm.plans.emplace_back();  // never run, but plans stay in step with the job's cases
      continue;
    }
    Case of = cases[i];
    if (wide) {
      std::optional<Case> part = window_of(*factory_.spec, of);
      if (!part) {
        made.cases.emplace_back();
        made.arm.plans.emplace_back();
        continue;
      }
      OrError<Case> twin = widened(*factory_.spec, *std::move(part));
      if (!twin) {
        return {kind, {}, {}, to_string(twin.error())};
      }
      of = std::move(*twin);
    }
    std::expected<Reference, std::string> reference = make_reference(of, prelude_of(kind), stop);
    if (!reference) {
      return {kind, {}, {}, "the reference does not compile like that: " + first_lines(reference.error())};
    }
    for (const Build& build : reference->builds) {
      if (std::ranges::find(made.arm.builds, build.id, &Build::id) == made.arm.builds.end()) {
        made.arm.builds.push_back(build);
      }
    }
    made.arm.plans.push_back(std::move(reference->plan));
    if (wide) {
      made.cases.push_back(std::move(of));
    }
  }
  return made;
}

}  // namespace kf
