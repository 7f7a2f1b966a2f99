// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "numbers.cuh"
#include "philox.cuh"
// The contents of a tensor: a function of (family, seed, logical index, row length, type).

namespace kf::harness {

// The order of kf::kFamilies, which says what each is for (host.cc asserts the length).
enum Family : int {
  kNormal,
  kLarge,
  kTiny,
  kOffset,
  kSpikes,
  kConstant,
  kIntegers,
  kMixed,
  kNonfinite,
  kZerosSigned,
  kZero,
  kSubnormal,
  kSorted,
  kReversed,
  kTies,
  kLate,
  kUniform,
  kSigned,
  kCancel,
  kMasked,
  kOneHot,
  kClustered,
  kFamilyCount
};
inline constexpr int kMixedFrom = 7;  // kMixed draws from the families before it
inline constexpr int kMixedRuns = 8;  // of one row, when it is not all of one family

// Sum of eight 16-bit uniforms, centred, over its standard deviation sqrt(8 (65536^2 - 1) / 12): near enough to normal
// for test data, and one exactly rounded multiplication.
KF_FN double normal_of(Words4 random) {
  const u32 sum = (random.x & 0xFFFF) + (random.x >> 16) + (random.y & 0xFFFF) + (random.y >> 16) +
                  (random.z & 0xFFFF) + (random.z >> 16) + (random.w & 0xFFFF) + (random.w >> 16);
  return static_cast<double>(static_cast<int>(sum) - 262140) * (1.0 / 53510.0);
}

// Between 0 and 1, never either.
KF_FN double uniform_of(u32 random) {
  return (static_cast<double>(random) + 0.5) * 2.3283064365386963e-10;
}

KF_FN double scale_up(int type) {
  switch (type) {
    case kF16:
    case kE5m2:
      return 1024.0;
    case kE4m3:
      return 32.0;
    case kI16:
      return 256.0;
    case kI8:
    case kU8:
    case kBoolean:
      return 2.0;
    case kI64:
    case kI32:
      return 1048576.0;
    default:
      return 131072.0;  // most values are beyond what half precision holds
  }
}
KF_FN double scale_down(int type) {
  switch (type) {
    case kF16:
    case kE5m2:
      return 9.765625e-4;  // 2^-10
    case kE4m3:
      return 0.0625;
    case kF64:
    case kF32:
    case kBf16:
    case kE8m0:
      return power_of_two(-40);
    default:
      return 0.125;  // integers
  }
}
KF_FN double scale_of_spikes(int type) {
  return type == kE4m3 ? 64.0 : type == kI8 || type == kU8 || type == kBoolean ? 4.0 : 1024.0;
}

struct Place {
  u64 seed;
  i64 index, column, columns;
  int type;
};

// Two neighbours share 128 random bits: gigabytes of these are made for each timed launch. Sum of four 16-bit uniforms,
// centred, over its standard deviation sqrt(4 (65536^2 - 1) / 12), as one exactly rounded float32 product.
KF_FN float normal_of_half(u32 high, u32 low) {
  const u32 sum = (high & 0xFFFF) + (high >> 16) + (low & 0xFFFF) + (low >> 16);
  return static_cast<float>(static_cast<int>(sum) - 131070) * 2.6429019e-5f;
}
KF_FN float normal_of_pair(Words4 random, i64 index) {
  return index & 1 ? normal_of_half(random.z, random.w) : normal_of_half(random.x, random.y);
}

KF_FN Words4 pair_words(u64 seed, i64 index) {
  return philox(seed, static_cast<u64>(index) >> 1, kElementStream);
}

KF_FN double normal_at(const Place& at, i64 index) {
  const double value = normal_of_pair(pair_words(at.seed, index), index);
  return is_integer(at.type) ? 8.0 * value : value;
}

// Families of which an element needs neither its row nor its column: timed launches are filled with one of them,
// gigabytes at a time, and finding the row costs more than the value.
KF_FN bool is_scaled_normal(int family) {
  return family <= kOffset;
}

KF_FN double scaled_normal(int family, const Place& at) {
  const double value = normal_at(at, at.index);
  return family == kLarge    ? value * scale_up(at.type)
         : family == kTiny   ? value * scale_down(at.type)
         : family == kOffset ? value + 100.0
                             : value;
}

KF_FN double spikes_at(const Place& at, Words4 row) {
  const Words4 choice = philox(at.seed, static_cast<u64>(at.index), kChoiceStream);
  const bool spike = at.column == static_cast<i64>(row.x % static_cast<u64>(at.columns)) || (choice.x & 511) == 0;
  if (!spike && (choice.x & 511) == 1) {
    return 0.0;  // normal values have none, and kernels that skip zeros pass
  }
  return normal_at(at, at.index) * (spike ? scale_of_spikes(at.type) : 1.0);
}

KF_FN double constant_at(const Place& at, u64 which) {
  const double value = normal_of(philox(at.seed, which, kTensorStream));
  const double away = is_negative(value) ? value - 0.5 : value + 0.5;
  return is_integer(at.type) ? 8.0 * away : away;
}

// Half of the rows, and five in eight of the first ones (a vector's only row is one), have one such element, which a
// reduction must not lose, or many, of every kind. In the other rows one element in eight is 0: what meets another
// input's infinity must give NaN in a product. Both in one row would refuse honest scans, whose order of products
// decides then.
KF_FN double nonfinite_at(const Place& at, Words4 row) {
  const Words4 choice = philox(at.seed, static_cast<u64>(at.index), kChoiceStream);
  const bool first = at.index == at.column;
  if (first ? (row.w & 7) < 3 : (row.x & 1) == 0) {
    return (choice.z & 7) == 0 ? 0.0 : normal_at(at, at.index);
  }
  const bool chosen = at.column == static_cast<i64>(row.y % static_cast<u64>(at.columns));
  if (!chosen && ((row.x & 2) == 0 || (choice.x & 31) != 0)) {
    return normal_at(at, at.index);
  }
  const u32 kind = (chosen ? row.z : choice.y) % 3;
  return double_of(kind == 0 ? kQuietNan : kind == 1 ? kInfinity : kInfinity | kSign);
}

KF_FN double zeros_at(const Place& at, Words4 row) {
  const Words4 choice = philox(at.seed, static_cast<u64>(at.index), kChoiceStream);
  return (row.x & 1) || (choice.x & 3) ? double_of(static_cast<u64>(choice.y & 1) << 63) : normal_at(at, at.index);
}

KF_FN double masked_at(const Place& at, Words4 row) {
  const Words4 choice = philox(at.seed, static_cast<u64>(at.index), kChoiceStream);
  return (row.x & 3) == 0 || (choice.x & 3) == 0 ? double_of(kInfinity | kSign) : normal_at(at, at.index);
}

// Rises with the column from -4 to 4: each column draws from its own part of that range.
KF_FN double sorted_at(const Place& at, i64 column) {
  const double inside = uniform_of(philox(at.seed, static_cast<u64>(at.index), kElementStream).x);
  const double value = (static_cast<double>(column) + inside) / static_cast<double>(at.columns) * 8.0 - 4.0;
  return is_integer(at.type) ? 8.0 * value : value;
}

KF_FN double ties_at(const Place& at, Words4 row) {
  const Words4 choice = philox(at.seed, static_cast<u64>(at.index), kChoiceStream);
  const double value = normal_of(row) * (is_integer(at.type) ? 8.0 : 1.0);
  return choice.x & 1 ? value : 0.5 * value + 0.25;
}

// Sums of wide integers go beyond 2^24 and come back, so that they never overflow and no float32 holds them.
KF_FN double cancel_at(const Place& at) {
  const i64 first = at.index - (at.column & 1);
  const double scale = at.type == kI32 || at.type == kI64 ? power_of_two(22) : 1.0;
  if (first == at.index) {
    return normal_at(at, first) * scale;
  }
  const Words4 choice = philox(at.seed, static_cast<u64>(at.index), kChoiceStream);
  return uniform_of(choice.x) * power_of_two(-12) - normal_at(at, first) * scale;
}

// What counts lies where partitions of a row meet it all at once: rows in turn have it at one residue modulo 16, 32, 64
// and 128 (one lane's elements), and in one run of a sixteenth of the row (one thread's part).
KF_FN double clustered_at(const Place& at, Words4 row) {
  const u64 turn = static_cast<u64>(quotient(at.index - at.column, at.columns)) + philox(at.seed, 0, kTensorStream).x;
  const u64 column = static_cast<u64>(at.column), columns = static_cast<u64>(at.columns);
  const u64 period = 16ull << (turn / 2 % 4), run = columns / 16 + 1;
  const bool high = turn & 1 ? (column + row.x % columns) % columns < run : (column + row.x) % period == 0;
  return normal_at(at, at.index) + (high ? 30.0 : 0.0);
}

KF_FN double family_value(int family, const Place& at, Words4 row, u64 which_constant) {
  switch (family) {
    case kSpikes:
      return spikes_at(at, row);
    case kConstant:
      return constant_at(at, which_constant);
    case kIntegers:
      return static_cast<double>(static_cast<int>(philox(at.seed, static_cast<u64>(at.index), kElementStream).x % 9) -
                                 4);
    case kNonfinite:
      return nonfinite_at(at, row);
    case kZerosSigned:
      return zeros_at(at, row);
    case kZero:
      return 0.0;
    case kSorted:
      return sorted_at(at, at.column);
    case kReversed:
      return sorted_at(at, at.columns - 1 - at.column);
    case kTies:
      return ties_at(at, row);
    case kLate:
      return normal_at(at, at.index) + (at.column == at.columns - 1 ? 30.0 : 0.0);
    case kUniform:
      return uniform_of(philox(at.seed, static_cast<u64>(at.index), kElementStream).x) *
             (is_integer(at.type) ? 8.0 : 1.0);
    case kSigned:
      return (2.0 * uniform_of(philox(at.seed, static_cast<u64>(at.index), kElementStream).x) - 1.0) *
             (is_integer(at.type) ? 8.0 : 1.0);
    case kCancel:
      return cancel_at(at);
    case kMasked:
      return masked_at(at, row);
    case kOneHot:
      return at.column == static_cast<i64>(row.x % static_cast<u64>(at.columns)) ? 1.0 : 0.0;
    case kClustered:
      return clustered_at(at, row);
    default:
      return scaled_normal(family, at);
  }
}

// Random mantissa, zero exponent; never zero. float8_e8m0 has no subnormals: its smallest codes.
KF_FN u64 subnormal_bits(const Place& at) {
  const Words4 random = philox(at.seed, static_cast<u64>(at.index), kElementStream);
  const int mantissa_bits = format_of(at.type).mantissa_bits;
  if (mantissa_bits == 0) {
    return random.x & 3;
  }
  const u64 mantissa = (static_cast<u64>(random.y) << 32 | random.x) & ((1ull << mantissa_bits) - 1);
  const u64 sign = static_cast<u64>(random.z & 1) << (8 * bytes_of(at.type) - 1);
  return sign | (mantissa == 0 ? 1 : mantissa);
}

KF_FN u64 boolean_bits(int family, const Place& at) {
  switch (family) {
    case kZero:
      return 0;
    case kConstant:
      return philox(at.seed, 0, kTensorStream).x & 1;
    case kSorted:
      return 2 * at.column >= at.columns;
    case kReversed:
      return 2 * at.column < at.columns;
    case kZerosSigned:
      return (philox(at.seed, static_cast<u64>(at.index), kChoiceStream).x & 15) == 0;
    default:
      return philox(at.seed, static_cast<u64>(at.index), kElementStream).x & 1;
  }
}

// The family of one element of kMixed: of its whole row, or in every other row of its eighth of it, so that neither a
// row's beginning nor its statistics tell what follows.
KF_FN int mixed_family(const Place& at, i64 row, Words4 random) {
  if (random.z & 1) {
    return static_cast<int>(random.w % kMixedFrom);
  }
  const i64 run = quotient(at.column * kMixedRuns, at.columns);
  const Words4 choice = philox(at.seed, static_cast<u64>(row * kMixedRuns + run), kRunStream);
  return static_cast<int>(choice.x % kMixedFrom);
}

// The bits of element `index` (row-major) of a tensor whose last extent is `columns`.
KF_FN u64 element_bits(int family, u64 seed, i64 index, i64 columns, int type) {
  if (is_scaled_normal(family) && type != kBoolean) {
    const double value = scaled_normal(family, {seed, index, 0, columns, type});
    return encode(type, type == kU8 ? magnitude(value) : value);
  }
  const i64 row = quotient(index, columns);
  const Place at{seed, index, index - row * columns, columns, type};
  const Words4 random = philox(seed, static_cast<u64>(row), kRowStream);
  u64 which_constant = 0;
  if (family == kMixed) {
    family = mixed_family(at, row, random);
    which_constant = static_cast<u64>(row) + 1;
  }
  if (type == kBoolean && family != kOneHot) {
    return boolean_bits(family, at);
  }
  if (family == kSubnormal && !is_integer(type)) {
    return subnormal_bits(at);
  }
  const double value = family_value(family, at, random, which_constant);
  return encode(type, type == kU8 ? magnitude(value) : value);
}

}  // namespace kf::harness
