// SPDX-License-Identifier: Apache-2.0
#include "shapes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

namespace kf {
namespace {

constexpr std::size_t kMostRanges = 4;
// Of the geometric mean, for each further range: less than that is noise, and a rule that nobody needs to read.
constexpr double kRangeMustGain = 0.003;

struct Quantity {
  std::string expression;
  std::vector<std::int64_t> of_case;
};

// Axes first, then their bytes, then the sizes alone: of equal rules the simplest wins.
std::vector<Quantity> quantities_of(std::span<const Case> cases) {
  std::set<std::string> axes, types;
  for (const Case& of : cases) {
    for (const auto& [name, value] : of.axes) {
      axes.insert(name);
    }
    for (const auto& [name, dtype] : of.types) {
      types.insert(name);
    }
  }
  std::vector<Quantity> quantities;
  const auto add = [&](std::string expression, const std::string& axis, const std::string& type) {
    Quantity quantity{std::move(expression), {}};
    for (const Case& of : cases) {
      const bool known = (axis.empty() || of.axes.contains(axis)) && (type.empty() || of.types.contains(type));
      if (!known) {
        return;
      }
      quantity.of_case.push_back((axis.empty() ? 1 : of.axes.at(axis)) *
                                 (type.empty() ? 1 : size_in_bytes(of.types.at(type))));
    }
    quantities.push_back(std::move(quantity));
  };
  for (const std::string& axis : axes) {
    add(axis, axis, "");
  }
  for (const std::string& axis : axes) {
    for (const std::string& type : types) {
      add(axis + " * sizeof(" + type + ")", axis, type);
    }
  }
  for (const std::string& type : types) {
    add("sizeof(" + type + ")", "", type);
  }
  return quantities;
}

struct Range {
  std::int64_t last = 0;  // of the quantity, inclusive
  std::size_t point = 0;
};
struct Rule {
  double log = std::numeric_limits<double>::infinity();  // sum over the cases, and what ranges must gain
  std::vector<Range> ranges;
};

// Dynamic programming over the quantity's values in rising order.
Rule best_rule(const Quantity& quantity, std::span<const std::vector<double>> nanoseconds) {
  std::map<std::int64_t, std::vector<double>> logs;  // by value: each point's sum over the cases there
  for (std::size_t at = 0; at < quantity.of_case.size(); ++at) {
    std::vector<double>& sums = logs[quantity.of_case[at]];
    sums.resize(nanoseconds.size());
    for (std::size_t point = 0; point < nanoseconds.size(); ++point) {
      sums[point] += std::log(nanoseconds[point][at]);
    }
  }
  const double fee = kRangeMustGain * static_cast<double>(quantity.of_case.size());
  std::vector<std::vector<Rule>> best(kMostRanges + 1);  // [ranges][values covered]
  std::vector<std::int64_t> values;
  for (const auto& [value, sums] : logs) {
    values.push_back(value);
  }
  for (std::vector<Rule>& of : best) {
    of.resize(values.size() + 1);
  }
  best[0][0].log = 0;
  for (std::size_t ranges = 1; ranges <= kMostRanges; ++ranges) {
    for (std::size_t begin = 0; begin < values.size(); ++begin) {
      const Rule& before = best[ranges - 1][begin];
      std::vector<double> sums(nanoseconds.size(), 0.0);
      for (std::size_t end = begin + 1; end <= values.size() && std::isfinite(before.log); ++end) {
        const std::vector<double>& added = logs.at(values[end - 1]);
        std::ranges::transform(sums, added, sums.begin(), std::plus<>());
        const auto point = static_cast<std::size_t>(std::ranges::min_element(sums) - sums.begin());
        const double log = before.log + sums[point] + (ranges > 1 ? fee : 0);
        if (log < best[ranges][end].log) {
          best[ranges][end] = {log, before.ranges};
          best[ranges][end].ranges.push_back({values[end - 1], point});
        }
      }
    }
  }
  Rule rule;
  for (std::size_t ranges = 1; ranges <= kMostRanges; ++ranges) {
    if (best[ranges].back().log < rule.log) {
      rule = best[ranges].back();
    }
  }
  return rule;
}

}  // namespace

std::vector<Selection> select_by_shape(std::span<const Case> cases, std::span<const Assignment> points,
                                       std::span<const std::vector<double>> nanoseconds) {
  if (points.empty()) {
    return {};
  }
  Rule best;
  std::string expression;
  for (const Quantity& quantity : quantities_of(cases)) {
    Rule rule = best_rule(quantity, nanoseconds);
    if (rule.log < best.log - 1e-12) {
      best = std::move(rule);
      expression = quantity.expression;
    }
  }
  std::vector<Selection> selections;
  for (const Range& range : best.ranges) {
    const bool last = &range == &best.ranges.back();
    selections.push_back({last ? "" : expression + " <= " + std::to_string(range.last), points[range.point]});
  }
  return selections;
}

}  // namespace kf
