// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "layout.cuh"
#include "numbers.cuh"
#include "poison.cuh"
// An output against its float64 reference, element by element; docs/measurement.md states the rule in words.

namespace kf::harness {

// The part of a tensor that a reference covers: `shape` elements from coordinate `first` on. Reference and condition
// are dense float64 arrays of that shape.
struct Comparison {
  Layout layout;
  i64 shape[kMaxRank], first[kMaxRank];
  i64 elements, columns;  // of the part
  i64 base_offset;        // bytes from the allocation's start to the tensor, for the poison
  double ulp, acc;
  double threshold;  // overflow_threshold(type)
  u64 poison_seed;
  int has_condition, skip_nonfinite;
  int only_unwritten;  // what holds the poison is wrong, and nothing else
};

// What the wrong elements of some range look like. `worst` is also there when nothing is wrong.
struct Damage {
  i64 wrong, unwritten, class_errors;
  i64 worst_index;  // into the part, row-major; -1: nothing was judged
  double worst_ratio, worst_out, worst_reference, worst_bound;
  i64 low[kMaxRank], high[kMaxRank];  // bounding box of the wrong elements in the tensor's coordinates
};

KF_FN Damage no_damage() {
  Damage damage{};
  damage.worst_index = -1;
  for (int dim = 0; dim < kMaxRank; ++dim) {
    damage.low[dim] = 0x7FFFFFFFFFFFFFFFll;
    damage.high[dim] = -1;
  }
  return damage;
}

// Larger ratio first, then smaller index: the same answer in any order.
KF_FN bool is_worse(double ratio, i64 index, const Damage& than) {
  return than.worst_index < 0 || ratio > than.worst_ratio || (ratio == than.worst_ratio && index < than.worst_index);
}

KF_FN void merge(Damage& into, const Damage& other) {
  into.wrong += other.wrong;
  into.unwritten += other.unwritten;
  into.class_errors += other.class_errors;
  if (other.worst_index >= 0 && is_worse(other.worst_ratio, other.worst_index, into)) {
    into.worst_index = other.worst_index;
    into.worst_ratio = other.worst_ratio;
    into.worst_out = other.worst_out;
    into.worst_reference = other.worst_reference;
    into.worst_bound = other.worst_bound;
  }
  for (int dim = 0; dim < kMaxRank; ++dim) {
    into.low[dim] = other.low[dim] < into.low[dim] ? other.low[dim] : into.low[dim];
    into.high[dim] = other.high[dim] > into.high[dim] ? other.high[dim] : into.high[dim];
  }
}

struct Judgement {
  bool judged, wrong, class_error;
  double bound, ratio;  // error over bound
};

KF_FN double ratio_of(double error, double bound) {
  return error == 0.0 ? 0.0 : bound == 0.0 ? double_of(kInfinity) : error / bound;
}

// ulp * ulp_type(reference) + acc * 2^-24 * condition; the condition is |reference| where none is given or it is not
// finite.
KF_FN double bound_of(const Comparison& of, double reference, double condition) {
  const double size =
      of.has_condition && !is_nan(condition) && !is_infinite(condition) ? magnitude(condition) : magnitude(reference);
  return of.ulp * unit_in_last_place(of.layout.type, reference) + of.acc * power_of_two(-24) * size;
}

// A reference that is Inf, or rounds to it in the output's type, wants Inf of its sign. Types without Inf, or whose
// conversions saturate, may hold their largest value, and types without Inf also NaN.
KF_FN bool meets_overflow(int type, double reference, double out) {
  const Format format = format_of(type);
  if (is_nan(out)) {
    return !format.infinities;
  }
  const bool top = is_infinite(out) || (format.saturates && magnitude(out) == decode(type, format.top_finite));
  return top && (is_negative(out) == is_negative(reference) || type == kE8m0);
}

KF_FN Judgement judge_float(const Comparison& of, double reference, double condition, double out) {
  const int type = of.layout.type;
  const Judgement right{true, false, false, 0.0, 0.0};
  const Judgement class_error{true, true, true, 0.0, double_of(kInfinity)};
  if (is_nan(reference)) {
    return of.skip_nonfinite ? Judgement{} : is_nan(out) ? right : class_error;
  }
  const bool overflows = magnitude(reference) >= of.threshold;  // Inf too
  if (overflows && of.skip_nonfinite) {
    return {};
  }
  if (overflows && meets_overflow(type, reference, out)) {
    return right;
  }
  if (is_infinite(reference) || is_nan(out)) {
    return class_error;
  }
  const double bound = bound_of(of, reference, condition);
  if (is_infinite(out)) {  // right where a value within the bound would have rounded to it
    const bool near = is_negative(out) == is_negative(reference) && magnitude(reference) + bound >= of.threshold;
    return near ? Judgement{true, false, false, bound, 1.0} : class_error;
  }
  const double error = magnitude(out - reference);
  return {true, !(error <= bound), false, bound, ratio_of(error, bound)};
}

// Integers must be equal.
KF_FN Judgement judge(const Comparison& of, double reference, double condition, u64 bits) {
  const double out = decode(of.layout.type, bits);
  if (!is_integer(of.layout.type)) {
    return judge_float(of, reference, condition, out);
  }
  if (is_nan(reference) || is_infinite(reference)) {
    return of.skip_nonfinite ? Judgement{} : Judgement{true, true, true, 0.0, double_of(kInfinity)};
  }
  const double error = magnitude(out - reference);
  return {true, error != 0.0, false, 0.0, ratio_of(error, 0.0)};
}

// Offset, in elements, of the part's element `index`; its coordinates in the tensor go to `coordinate`.
KF_FN i64 locate(const Comparison& of, i64 index, i64* coordinate) {
  coordinates(of.shape, index, coordinate);
  i64 offset = 0;
  for (int dim = 0; dim < kMaxRank; ++dim) {
    coordinate[dim] += of.first[dim];
    offset += coordinate[dim] * of.layout.stride[dim];
  }
  return offset;
}

// Whether an element still holds what was there before anything wrote it. `offset`: from the tensor, in elements.
KF_FN bool holds_poison(const Comparison& of, u64 bits, i64 offset) {
  const int bytes = of.layout.bytes;
  return bits == poison_at(of.poison_seed, static_cast<u64>(of.base_offset + offset * bytes), bytes);
}

// Judges one element and adds it to `damage`. True: it is wrong.
KF_FN bool compare_element(const Comparison& of, const u8* out, const double* reference, const double* condition,
                           i64 index, Damage& damage) {
  i64 coordinate[kMaxRank];
  const i64 offset = locate(of, index, coordinate);
  const u64 bits = load_element(out, offset, of.layout.bytes);
  Judgement found{true, false, false, 0.0, 0.0};
  if (!of.only_unwritten) {
    found = judge(of, reference[index], of.has_condition ? condition[index] : 0.0, bits);
  } else if (holds_poison(of, bits, offset)) {
    found.wrong = true;
    found.ratio = double_of(kInfinity);
  }
  if (!found.judged) {
    return false;
  }
  if (is_worse(found.ratio, index, damage)) {
    damage.worst_index = index;
    damage.worst_ratio = found.ratio;
    damage.worst_out = decode(of.layout.type, bits);
    damage.worst_reference = reference[index];
    damage.worst_bound = found.bound;
  }
  if (!found.wrong) {
    return false;
  }
  const bool unwritten = of.only_unwritten || holds_poison(of, bits, offset);  // costs more than the judgement
  damage.wrong += 1;
  damage.class_errors += found.class_error && !unwritten;
  damage.unwritten += unwritten;
  for (int dim = 0; dim < kMaxRank; ++dim) {
    damage.low[dim] = coordinate[dim] < damage.low[dim] ? coordinate[dim] : damage.low[dim];
    damage.high[dim] = coordinate[dim] > damage.high[dim] ? coordinate[dim] : damage.high[dim];
  }
  return true;
}

// ---- root mean square per region -----------------------------------------------------------------

// Regions span `inner` dims of the part; each index over the other dims (`outer`) is one region. Sums run in an order
// that does not depend on the machine: chunks of kChunk elements, kLanes lanes inside, folded in halves.
struct Regions {
  i64 outer[kMaxRank], inner[kMaxRank];  // shape of the part, or 1
  i64 regions, size, chunks;             // size: elements of one region; chunks of one region
};
inline constexpr int kLanes = 128;
inline constexpr i64 kChunk = 16384;

struct SquareSums {
  double error, reference;
};
KF_FN SquareSums empty_squares() {
  return {0.0, 0.0};
}
KF_FN void merge(SquareSums& into, const SquareSums& other) {
  into.error += other.error;
  into.reference += other.reference;
}

// One lane's share of chunk `chunk` (regions x chunks, row-major).
KF_FN SquareSums lane_squares(const Comparison& of, const Regions& by, const u8* out, const double* reference,
                              i64 chunk, int lane) {
  const i64 region = quotient(chunk, by.chunks);
  const i64 begin = (chunk - region * by.chunks) * kChunk;
  const i64 end = begin + kChunk < by.size ? begin + kChunk : by.size;
  i64 outer[kMaxRank];
  coordinates(by.outer, region, outer);
  SquareSums sums = empty_squares();
  for (i64 i = begin + lane; i < end; i += kLanes) {
    i64 inner[kMaxRank];
    coordinates(by.inner, i, inner);
    i64 index = 0;
    i64 offset = 0;
    for (int dim = 0; dim < kMaxRank; ++dim) {
      const i64 at = outer[dim] + inner[dim];
      index = index * of.shape[dim] + at;
      offset += (at + of.first[dim]) * of.layout.stride[dim];
    }
    const double wanted = reference[index];
    const double error = decode(of.layout.type, load_element(out, offset, of.layout.bytes)) - wanted;
    if (is_nan(error) || is_infinite(error) || is_infinite(wanted)) {
      continue;  // classes are the element-wise pass's business
    }
    merge(sums, {error * error, wanted * wanted});
  }
  return sums;
}

}  // namespace kf::harness
