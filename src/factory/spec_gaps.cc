// SPDX-License-Identifier: Apache-2.0
#include "spec_gaps.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "cases.h"
#include "neighbours.h"

namespace kf {
namespace {

constexpr double kSixteenBits = 65535, kEightBits = 255, kFloat32Integers = 16777216;
constexpr std::int64_t kBeyondSixteenBits = 65537;
constexpr std::int64_t kTail = 4;  // the narrowest vector access that needs one

AdmissionRow warning(std::string name, std::string expected, std::string found) {
  return {std::move(name), std::move(expected), std::move(found), true};
}

// Check cases that have something to compute.
std::vector<const Case*> telling_cases(const Spec& spec) {
  std::vector<const Case*> cases;
  if (const auto found = spec.cases.find("check"); found != spec.cases.end()) {
    for (const Case& of : found->second) {
      const bool empty = std::ranges::any_of(of.tensors, [](const Tensor& t) { return t.elements() == 0; });
      if (!empty) {
        cases.push_back(&of);
      }
    }
  }
  return cases;
}

const Tensor* tensor_in(const Case& of, const std::string& name) {
  const auto found = std::ranges::find(of.tensors, name, &Tensor::name);
  return found == of.tensors.end() ? nullptr : &*found;
}

// Is one of these families among the input's own?
bool has_family(const Spec& spec, const std::string& input, std::initializer_list<std::string_view> any_of) {
  const auto families = spec.families.find(input);
  return families != spec.families.end() && std::ranges::any_of(families->second, [&](const std::string& family) {
           return std::ranges::find(any_of, family) != any_of.end();
         });
}

void add_inputs(const Spec& spec, const std::vector<const Case*>& cases, std::vector<AdmissionRow>& rows) {
  for (const TensorSpec& input : spec.tensors) {
    if (input.scalar || input.role == TensorRole::kOutput) {
      continue;
    }
    const auto there = std::ranges::find_if(cases, [&](const Case* of) { return tensor_in(*of, input.name); });
    if (there == cases.end()) {
      rows.push_back(warning("input " + input.name, "is there in a check case",
                             "in none: what a kernel makes of it is never checked; add a check case with it"));
      continue;
    }
    const Dtype dtype = tensor_in(**there, input.name)->dtype;
    if (!is_floating(dtype) && size_in_bytes(dtype) >= 2 && !input.values_from_case &&
        !has_family(spec, input.name, {"large", "spikes", "mixed", "cancel"})) {
      rows.push_back(warning("range of " + input.name, "more than 8 bits somewhere",
                             "-128 to 127 in all of its families: a kernel that keeps it in 8 bits passes; add "
                             "\"large\" to families." +
                                 input.name + ", or list its contents (\"values\": \"case\")"));
    }
    if (spec.nonfinite == Nonfinite::kPropagate && is_floating(dtype) && !input.values_from_case &&
        !has_family(spec, input.name, {"nonfinite"})) {
      rows.push_back(warning("NaN and Inf in " + input.name, "tried, since the spec says that they propagate",
                             "no family of " + input.name +
                                 " has them: a kernel that swallows them passes; add \"nonfinite\" "
                                 "to families." +
                                 input.name + " (behind its first one)"));
    }
  }
}

void add_scalars(const Spec& spec, const std::vector<const Case*>& cases, std::vector<AdmissionRow>& rows) {
  for (const TensorSpec& scalar : spec.tensors) {
    if (!scalar.scalar) {
      continue;
    }
    std::set<double> values;
    for (const Case* of : cases) {
      if (const auto found = of->scalars.find(scalar.name); found != of->scalars.end()) {
        values.insert(found->second);
      }
    }
    if (values.size() == 1) {
      rows.push_back(warning("scalar " + scalar.name, "has several values in the check cases",
                             "one, " + std::to_string(*values.begin()) +
                                 ": a kernel may hold it as a constant; add a check case with another value"));
    }
  }
}

void add_pitches(const Spec& spec, const std::vector<const Case*>& cases, std::vector<AdmissionRow>& rows) {
  for (const std::string& axis : pitch_axes(spec)) {
    const bool dense =
        std::ranges::all_of(cases, [&](const Case* of) { return away_from_expression(spec, *of, axis) == 0; });
    if (dense && !cases.empty()) {
      rows.push_back(warning("pitch " + axis, "differs from its expression in a check case",
                             "in none: a kernel may ignore it; add a check case with \"" + axis +
                                 "\" one larger than its expression, or whatever the constraints allow"));
    }
  }
}

// Does a case exist in which this axis is larger by one, or at least as large as that?
bool may_be(const Spec& spec, const std::vector<const Case*>& cases, const std::string& axis, std::int64_t least) {
  return std::ranges::any_of(cases, [&](const Case* of) {
    const auto now = of->axes.find(axis);
    return now != of->axes.end() &&
           resized_case(spec, *of, {{axis, std::max(now->second + 1, least)}}, "check").has_value();
  });
}

void add_tails(const Spec& spec, const std::vector<const Case*>& cases, std::vector<AdmissionRow>& rows) {
  for (const auto& [name, axis] : spec.axes) {
    std::int64_t common = 0;
    for (const Case* of : cases) {
      common = std::gcd(common, of->axes.at(name));
    }
    if (axis.kind == Axis::Kind::kVar && common >= kTail && may_be(spec, cases, name, 0)) {
      rows.push_back(warning(
          "tails along " + name, "occur in a check case",
          "every one is a multiple of " + std::to_string(common) +
              ", which no constraint asks for: a kernel without a tail passes; add a prime, or the constraint"));
    }
  }
}

bool is_var(const Spec& spec, const std::string& name) {
  return std::ranges::any_of(
      spec.axes, [&](const auto& axis) { return axis.first == name && axis.second.kind == Axis::Kind::kVar; });
}

void add_ranges(const Spec& spec, const std::vector<const Case*>& cases, const std::vector<OutputRange>& ranges,
                std::vector<AdmissionRow>& rows) {
  for (const OutputRange& range : ranges) {
    const bool wide = std::ranges::any_of(cases, [&](const Case* of) {
      const Tensor* tensor = tensor_in(*of, range.output);
      return tensor != nullptr && !is_floating(tensor->dtype) && size_in_bytes(tensor->dtype) >= 4;
    });
    if (!wide) {
      continue;
    }
    const std::string most = std::to_string(static_cast<std::int64_t>(range.largest));
    if (range.below.empty()) {
      if (range.largest <= kFloat32Integers) {
        rows.push_back(warning("range of " + range.output, "more than 2^24 somewhere",
                               "at most " + most +
                                   ": a kernel that computes it in float32 passes; add a check case with more "
                                   "elements, or a family with larger values"));
      }
      continue;
    }
    // An index along dims that stay short is one of few bits.
    const auto grows = std::ranges::find_if(range.below, [&](const std::string& dim) {
      return is_var(spec, dim) && may_be(spec, cases, dim, kBeyondSixteenBits);
    });
    if (range.largest <= kSixteenBits && grows != range.below.end()) {
      rows.push_back(warning("range of " + range.output, "indices of more than 16 bits somewhere",
                             "at most " + most + ": a kernel that keeps them in " +
                                 (range.largest <= kEightBits ? "8" : "16") + " bits passes; add a check case whose " +
                                 *grows +
                                 " is above 65536, with a family that puts what counts at the end (late, sorted)"));
    }
  }
}

}  // namespace

std::vector<AdmissionRow> spec_gaps(const Spec& spec, const std::vector<OutputRange>& ranges) {
  const std::vector<const Case*> cases = telling_cases(spec);
  std::vector<AdmissionRow> rows;
  add_inputs(spec, cases, rows);
  add_scalars(spec, cases, rows);
  add_pitches(spec, cases, rows);
  add_tails(spec, cases, rows);
  add_ranges(spec, cases, ranges, rows);
  return rows;
}

}  // namespace kf
