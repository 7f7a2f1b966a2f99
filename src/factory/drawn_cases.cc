// SPDX-License-Identifier: Apache-2.0
#include "drawn_cases.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <set>
#include <string>

#include <kfactory/seed.h>
#include <kfactory/varied_case.h>

#include "cases.h"

namespace kf {
namespace {

constexpr std::int64_t kRemainders = 16;  // of the widest vectors: 16 bytes of 8-bit elements
constexpr std::size_t kBeyond = 4;  // of so many cases one has an axis longer than any listed one, the others short
constexpr std::int64_t kBesideLongest = 8;
constexpr std::uint64_t kOneIsOne = 6;  // of so many cases one has an axis of 1

struct DrawnAxis {
  std::string name;
  std::int64_t most = 1;    // twice the largest listed size
  std::int64_t shared = 0;  // what all listed sizes are multiples of
  std::int64_t turn = 0;    // where its remainders begin
};

std::int64_t below(std::int64_t most, std::uint64_t& state) {
  return static_cast<std::int64_t>(splitmix64(state) % static_cast<std::uint64_t>(most));
}

std::vector<DrawnAxis> axes_to_draw(const Spec& spec, std::uint64_t& state) {
  std::vector<DrawnAxis> axes;
  for (const auto& [name, axis] : spec.axes) {
    if (axis.kind != Axis::Kind::kVar) {
      continue;
    }
    DrawnAxis drawn{name};
    for (const auto& [set, cases] : spec.cases) {
      for (const Case& of : cases) {
        drawn.most = std::max(drawn.most, 2 * of.axes.at(name));
        drawn.shared = std::gcd(drawn.shared, of.axes.at(name));
      }
    }
    drawn.turn = below(kRemainders, state);
    axes.push_back(std::move(drawn));
  }
  return axes;
}

std::int64_t log_uniform(std::int64_t most, std::uint64_t& state) {
  const double share = static_cast<double>(splitmix64(state) >> 11) * 0x1p-53;
  return static_cast<std::int64_t>(std::exp2(share * std::log2(static_cast<double>(most))));
}

// 5 and 16 have no common divisor: sixteen numbers in a row leave sixteen remainders.
std::int64_t with_remainder(std::int64_t size, const DrawnAxis& axis, std::size_t number) {
  const std::int64_t tail = (axis.turn + 5 * static_cast<std::int64_t>(number)) % kRemainders;
  return std::max<std::int64_t>(1, size / kRemainders * kRemainders + tail);
}

// What kernels usually take a block for each of: rows of an output, and steps of the slice axis where it is no tensor's
// last dim.
std::int64_t rows_of(const Spec& spec, const Case& of) {
  std::int64_t rows = 1;
  for (const Tensor& tensor : of.tensors) {
    if (tensor.role != TensorRole::kInput && !tensor.extent.empty() && tensor.elements() > 0) {
      rows = std::max(rows, tensor.elements() / tensor.extent.back());
    }
    const auto slice = std::ranges::find(tensor.dims, spec.reference.slice);
    if (slice != tensor.dims.end() && slice + 1 != tensor.dims.end()) {
      rows = std::max(rows, of.axes.at(spec.reference.slice));
    }
  }
  return rows;
}

// The case with these sizes, the largest halved (what each leaves by its step is kept) until it is small enough.
std::optional<Case> small_case(const Spec& spec, const Case& of, Map<std::int64_t> sizes,
                               const Map<std::int64_t>& steps, const DrawnLimits& limits) {
  for (;;) {
    OrError<Case> made = varied_case(spec, of, {sizes, {}}, "held_out");
    if (!made) {
      return std::nullopt;
    }
    if (elements_of(*made) <= limits.elements && rows_of(spec, *made) <= limits.rows) {
      return std::move(*made);
    }
    const auto largest = std::ranges::max_element(sizes, {}, [](const auto& axis) { return axis.second; });
    const std::int64_t step = steps.at(largest->first);
    if (largest->second < 2 * step) {
      return std::nullopt;
    }
    largest->second = largest->second / 2 / step * step + largest->second % step;
  }
}

}  // namespace

std::vector<Case> drawn_cases(const Spec& spec, std::uint64_t seed, const DrawnLimits& limits, std::size_t count) {
  const auto listed = spec.cases.find("check");
  std::vector<Case> made;
  std::uint64_t state = seed;
  const std::vector<DrawnAxis> axes = axes_to_draw(spec, state);
  if (listed == spec.cases.end() || listed->second.empty() || axes.empty()) {
    return made;
  }
  std::set<std::string> seen;
  const std::size_t first = splitmix64(state) % listed->second.size();
  for (std::size_t number = 0; made.size() < count && number < 2 * count; ++number) {
    const Case& of = listed->second[(first + number) % listed->second.size()];
    const std::uint64_t one = splitmix64(state) % (kOneIsOne * axes.size());  // below the number of axes: that is 1
    const bool beyond = number % kBeyond == kBeyond - 1;
    const std::size_t longest = (first + number / kBeyond) % axes.size();
    Map<std::int64_t> sizes, multiples, remainders, shares;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const std::int64_t size = !beyond        ? log_uniform(axes[i].most, state)
                                : i != longest ? log_uniform(std::min(axes[i].most, kBesideLongest), state)
                                               : axes[i].most / 2 + below(axes[i].most / 2 + 1, state);
      const std::int64_t shared = std::max<std::int64_t>(1, axes[i].shared);
      sizes[axes[i].name] = one == i && !beyond ? 1 : with_remainder(size, axes[i], number);
      multiples[axes[i].name] = std::max(shared, size / shared * shared);
      remainders[axes[i].name] = kRemainders;
      shares[axes[i].name] = shared;
    }
    std::optional<Case> drawn = small_case(spec, of, std::move(sizes), remainders, limits);
    if (!drawn) {
      drawn = small_case(spec, of, std::move(multiples), shares, limits);
    }
    if (drawn && elements_of(*drawn) > 0 && seen.insert(drawn->id.value).second) {
      made.push_back(std::move(*drawn));
    }
  }
  return made;
}

}  // namespace kf
