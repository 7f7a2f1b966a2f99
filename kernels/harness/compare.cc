// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "kernels/harness/host.h"

namespace kf::harness {
namespace {

std::vector<std::int64_t> without_padding(const i64* coordinate, int rank) {
  return {coordinate + kMaxRank - rank, coordinate + kMaxRank};
}

SquareSums chunk_squares(const ComparePlan& plan, const u8* out, const double* reference, i64 chunk) {
  SquareSums lanes[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) {
    lanes[lane] = lane_squares(plan.of, plan.regions, out, reference, chunk, lane);
  }
  for (int half = kLanes / 2; half > 0; half /= 2) {
    for (int lane = 0; lane < half; ++lane) {
      merge(lanes[lane], lanes[lane + half]);
    }
  }
  return lanes[0];
}

}  // namespace

Mismatch mismatch_of(const ComparePlan& plan, const Damage& damage, std::int64_t wrong_rows,
                     std::int64_t wrong_columns) {
  Mismatch mismatch;
  mismatch.elements = plan.of.elements;
  mismatch.wrong = damage.wrong;
  mismatch.unwritten = damage.unwritten;
  mismatch.class_errors = damage.class_errors;
  mismatch.columns = plan.of.elements == 0 ? 0 : plan.of.columns;
  mismatch.rows = plan.of.elements / plan.of.columns;
  mismatch.wrong_rows = wrong_rows;
  mismatch.wrong_columns = wrong_columns;
  if (damage.worst_index >= 0) {
    i64 coordinate[kMaxRank];
    locate(plan.of, damage.worst_index, coordinate);
    mismatch.worst_index = without_padding(coordinate, plan.rank);
    mismatch.worst_out = damage.worst_out;
    mismatch.worst_ref = damage.worst_reference;
    mismatch.worst_bound = damage.worst_bound;
    mismatch.worst_ratio = damage.worst_ratio;
  }
  if (damage.wrong > 0) {
    mismatch.first_index = without_padding(damage.low, plan.rank);
    mismatch.last_index = without_padding(damage.high, plan.rank);
  }
  return mismatch;
}

void judge_regions(const ComparePlan& plan, std::span<const SquareSums> squares, Mismatch& mismatch) {
  const Regions& by = plan.regions;
  const auto size = static_cast<double>(by.size);
  Damage worst = no_damage();  // worst_index counts regions here
  for (i64 region = 0; region < by.regions; ++region) {
    SquareSums sum = empty_squares();
    for (i64 chunk = 0; chunk < by.chunks; ++chunk) {
      merge(sum, squares[static_cast<std::size_t>(region * by.chunks + chunk)]);
    }
    const double error = std::sqrt(sum.error / size);
    const double reference = std::sqrt(sum.reference / size);
    // Nothing that the type holds is nearer to values below its smallest one.
    const double bound = plan.rms * reference + unit_in_last_place(plan.of.layout.type, 0.0);
    if (error <= bound) {
      continue;
    }
    Damage here = no_damage();
    here.wrong = by.size;
    here.worst_index = region;
    here.worst_ratio = ratio_of(error, bound);
    here.worst_out = error;
    here.worst_reference = reference;
    here.worst_bound = bound;
    coordinates(by.outer, region, here.low);
    for (int dim = 0; dim < kMaxRank; ++dim) {
      here.low[dim] += plan.of.first[dim];
      here.high[dim] = here.low[dim] + by.inner[dim] - 1;
    }
    merge(worst, here);
  }
  if (worst.wrong == 0) {
    return;
  }
  i64 first[kMaxRank];
  coordinates(by.outer, worst.worst_index, first);
  for (int dim = 0; dim < kMaxRank; ++dim) {
    first[dim] += plan.of.first[dim];
  }
  mismatch.by_rms = true;
  mismatch.wrong = worst.wrong;
  mismatch.worst_index = without_padding(first, plan.rank);
  mismatch.worst_out = worst.worst_out;
  mismatch.worst_ref = worst.worst_reference;
  mismatch.worst_bound = worst.worst_bound;
  mismatch.worst_ratio = worst.worst_ratio;
  mismatch.first_index = without_padding(worst.low, plan.rank);
  mismatch.last_index = without_padding(worst.high, plan.rank);
}

Mismatch compare(const ComparePlan& plan, std::span<const std::byte> out, std::span<const double> reference,
                 std::span<const double> condition) {
  const u8* base = reinterpret_cast<const u8*>(out.data()) + plan.of.base_offset;
  std::vector<bool> rows(static_cast<std::size_t>(plan.of.elements / plan.of.columns));
  std::vector<bool> columns(static_cast<std::size_t>(plan.of.columns));
  Damage damage = no_damage();
  for (i64 i = 0; i < plan.of.elements; ++i) {
    if (compare_element(plan.of, base, reference.data(), condition.data(), i, damage)) {
      rows[static_cast<std::size_t>(i / plan.of.columns)] = true;
      columns[static_cast<std::size_t>(i % plan.of.columns)] = true;
    }
  }
  Mismatch mismatch = mismatch_of(plan, damage, std::ranges::count(rows, true), std::ranges::count(columns, true));
  if (plan.regions.size > 0 && mismatch.wrong == 0) {
    std::vector<SquareSums> squares(static_cast<std::size_t>(plan.regions.regions * plan.regions.chunks));
    for (std::size_t chunk = 0; chunk < squares.size(); ++chunk) {
      squares[chunk] = chunk_squares(plan, base, reference.data(), static_cast<i64>(chunk));
    }
    judge_regions(plan, squares, mismatch);
  }
  return mismatch;
}

}  // namespace kf::harness
