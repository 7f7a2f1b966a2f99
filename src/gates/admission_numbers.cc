// SPDX-License-Identifier: Apache-2.0
#include "gates/admission_numbers.h"

#include <algorithm>
#include <cmath>

#include "gates/elements.h"
#include "gates/moved_inputs.h"

namespace kf {
namespace {

constexpr double kFewIllConditioned = 0.01;
constexpr std::string_view kOfferFloat32 =
    "; write the reference so that it also compiles with `double` read as `float` (docs/gates.md, Admission)";

std::string percent(std::int64_t part, std::int64_t whole) {
  const double share = whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  std::string text = std::to_string(share);
  text.resize(std::min(text.size(), text.find('.') + 3));
  return text + " %";
}
std::string two_digits(double value) {
  std::string text = std::to_string(value);
  text.resize(std::min(text.size(), text.find('.') + 3));
  return text;
}

std::string name_of(ReferenceVariant::Kind kind) {
  return kind == ReferenceVariant::Kind::kFloat32 ? "the reference in float32"
                                                  : "the reference in float32, two sums in turns";
}

// Half of the bound; a correctly rounded result always fits, and so does one that went through float32 before.
double half_of(double allowed, double wanted, Dtype dtype) {
  const double ulp = unit_in_last_place(wanted, dtype);
  const bool narrow = mantissa_bits(dtype) < mantissa_bits(Dtype::kFloat32);
  return std::min(allowed,
                  std::max(0.5 * allowed, 0.5 * ulp + (narrow ? unit_in_last_place(wanted, Dtype::kFloat32) : 0.0)));
}

double exact_allowance(double wanted, Dtype dtype) {
  const bool narrow = mantissa_bits(dtype) < mantissa_bits(Dtype::kFloat32);
  return (narrow ? 0.5 : 0.25) * unit_in_last_place(wanted, dtype);
}

double rounded(double value, Dtype dtype) {
  return decode_element(encode_element(value, dtype), dtype);
}

}  // namespace

AdmissionNumbers::Order& AdmissionNumbers::order(std::size_t index, const std::string& name) {
  if (orders_.size() <= index) {
    orders_.resize(index + 1);
  }
  orders_[index].name = name;
  return orders_[index];
}

// By its rule for ties; what is equal decides, not how near.
bool AdmissionNumbers::is_index(const Tensor& tensor) const {
  const auto bound = job_.bounds.find(tensor.name);
  return bound != job_.bounds.end() && !bound->second.ties_of.empty();
}

void AdmissionNumbers::look_at(const CheckPoint& point) {
  const Case& of = trial_.case_of(point);
  const std::uint64_t seed = derive_seed(seed_at(point, 0), 1200);
  const Contents contents = trial_.contents(point, seed);
  CaseBuffers buffers = trial_.prepared(point, seed);
  std::string why_not = MovedInputs::why_not(job_, point.case_index);
  if (why_not.empty() && !MovedInputs::reach_of(job_, point.case_index).axis.empty()) {
    why_not = "the case is large";
  }
  std::optional<MovedInputs> moved_inputs;
  if (why_not.empty()) {
    moved_inputs.emplace(bench_, job_, point.case_index, buffers, contents, derive_seed(seed, 2));
  }
  bench_.must(trial_.run_baseline(buffers, trial_.plan_of(point)), "running the baseline on " + of.id.value);
  for (std::size_t i = 0; i < of.tensors.size(); ++i) {
    const Tensor& tensor = of.tensors[i];
    if (tensor.role == TensorRole::kInput || tensor.elements() == 0 || is_index(tensor)) {
      continue;
    }
    const auto value = [&](const std::string& name) {
      return reference_.values(point.case_index, buffers, contents, name, derive_seed(seed, 3));
    };
    const std::vector<double> wanted = value(tensor.name);
    const auto bound = job_.bounds.find(tensor.name);
    const bool conditioned = bound != job_.bounds.end() && !bound->second.condition.empty();
    const std::vector<Answers> found = answers(point, buffers, contents, i, seed);
    outputs_[tensor.name].not_tried = why_not;
    judge(point, tensor, found, wanted, conditioned ? value(bound->second.condition) : wanted,
          moved_inputs ? moved_inputs->farthest(tensor.name, wanted) : wanted);
    judge_exact(point, tensor, found, wanted);
  }
  buffers.scrub_outputs(derive_seed(seed, 4));
}

std::vector<AdmissionNumbers::Answers> AdmissionNumbers::answers(const CheckPoint& point, const CaseBuffers& buffers,
                                                                 const Contents& contents, std::size_t output,
                                                                 std::uint64_t seed) {
  const Tensor& tensor = buffers.of().tensors[output];
  std::vector<Answers> found;
  std::size_t index = 0;
  for (const ReferenceVariant& variant : job_.variants) {
    if (variant.kind == ReferenceVariant::Kind::kWideInputs) {
      continue;
    }
    Order& order = this->order(index, name_of(variant.kind));
    order.not_tried = variant.unavailable;
    if (variant.unavailable.empty()) {
      Reference lowered(bench_, job_, variant.arm);
      const Reference::Form form =
          variant.kind == ReferenceVariant::Kind::kFloat32 ? Reference::Form::kFloat32 : Reference::Form::kFloat32Pairs;
      found.push_back(
          {index, lowered.values(point.case_index, buffers, contents, tensor.name, derive_seed(seed, 5), form)});
    }
    ++index;
  }
  order(index, "the baseline");
  found.push_back({index, decode_elements(read_elements(bench_, buffers, output), tensor.dtype)});
  return found;
}

void AdmissionNumbers::judge(const CheckPoint& point, const Tensor& tensor, const std::vector<Answers>& answers,
                             const std::vector<double>& wanted, const std::vector<double>& conditions,
                             const std::vector<double>& moved) {
  const auto found = job_.bounds.find(tensor.name);
  const Bound bound = found == job_.bounds.end() ? Bound{} : found->second;
  Output& output = outputs_[tensor.name];
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (!std::isfinite(wanted[i])) {
      continue;
    }
    const double allowed = allowed_error(bound, tensor.dtype, wanted[i], conditions[i]);
    const double half = half_of(allowed, wanted[i], tensor.dtype);
    const bool jumps = !(std::abs(moved[i] - wanted[i]) <= allowed);
    bool beyond = false;
    for (const Answers& answer : answers) {
      Order& order = orders_[answer.order];
      const double value = rounded(answer.values[i], tensor.dtype);
      const double error = std::abs(value - wanted[i]);
      if (std::isinf(value) && std::isinf(rounded(wanted[i], tensor.dtype))) {
        continue;  // both overflow
      }
      order.elements += is_floating(tensor.dtype) ? 1 : 0;
      const double ratio = error == 0 ? 0.0 : error / allowed;
      if (ratio > order.worst_ratio && !jumps && is_floating(tensor.dtype)) {
        order.worst_ratio = ratio;
        order.worst_at = tensor.name + "[" + std::to_string(i) + "] of " +
                         job_.cases[static_cast<std::size_t>(point.case_index)].id.value + " (" + point.family + ")";
      }
      const bool out = !(error <= half);
      order.beyond += out && !jumps && is_floating(tensor.dtype) ? 1 : 0;
      beyond = beyond || out;
    }
    ++output.elements;
    output.moved += jumps ? 1 : 0;
    output.ill_conditioned += jumps && beyond ? 1 : 0;
  }
}

void AdmissionNumbers::judge_exact(const CheckPoint& point, const Tensor& tensor, const std::vector<Answers>& answers,
                                   const std::vector<double>& wanted) {
  if (!is_floating(tensor.dtype)) {
    return;
  }
  const auto bound = job_.bounds.find(tensor.name);
  const bool declared =
      bound != job_.bounds.end() && std::ranges::find(bound->second.exact, point.family) != bound->second.exact.end();
  const bool strict = bound == job_.bounds.end() || (bound->second.ulp < 0.5 && bound->second.acc == 0);
  if (!declared && (strict || (point.family != "integers" && point.family != "one_hot"))) {
    return;  // not an exact probe, or the bound allows no more than one anyway
  }
  bool agree = true;
  for (const Answers& answer : answers) {
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const double error = std::abs(rounded(answer.values[i], tensor.dtype) - wanted[i]);
      const bool right = std::isfinite(wanted[i]) && error <= exact_allowance(wanted[i], tensor.dtype);
      agree = agree && right;
      orders_[answer.order].inexact += declared && !right ? 1 : 0;
    }
  }
  const auto [entry, fresh] = outputs_[tensor.name].exact_families.emplace(point.family, agree);
  entry->second = entry->second && agree;
}

AdmissionRow AdmissionNumbers::row_of(const Order& order) const {
  AdmissionRow row{"float32 order: " + order.name, "within half of the bound", "", true};
  if (!order.not_tried.empty()) {
    row.tried = false;
    row.found = "not tried: " + order.not_tried + std::string(kOfferFloat32);
    return row;
  }
  row.ok = order.beyond == 0;
  row.found = order.worst_ratio == 0
                  ? "equal to the reference, rounded, in all " + std::to_string(order.elements) + " elements"
                  : "at most " + two_digits(order.worst_ratio) + " of the bound, at " + order.worst_at;
  if (!row.ok) {
    row.found +=
        "; " + std::to_string(order.beyond) + " of " + std::to_string(order.elements) +
        " elements need more than half: an honest kernel that sums in another order may be refused; raise acc, or "
        "state the condition that float32 sums need";
  }
  return row;
}

AdmissionRow AdmissionNumbers::row_of(const std::string& name, const Output& output) const {
  const auto bound = job_.bounds.find(name);
  const double stated = bound == job_.bounds.end() ? 0.0 : bound->second.ill_conditioned;
  AdmissionRow row{"ill-conditioned elements of " + name, "", "", true};
  row.expected = stated > 0 ? "at most " + two_digits(100 * stated) + " %" : "none";
  if (!output.not_tried.empty()) {
    row.tried = false;
    row.found = "not tried: " + output.not_tried;
    return row;
  }
  const auto share =
      static_cast<double>(output.ill_conditioned) / static_cast<double>(std::max<std::int64_t>(output.elements, 1));
  row.ok = share <= stated;
  row.found = std::to_string(output.ill_conditioned) + " of " + std::to_string(output.elements);
  if (output.moved > 0) {
    row.found += " (one float32 ulp of the inputs moves " + percent(output.moved, output.elements) +
                 " of the elements out of the bound" + (row.ok ? "; the orders above stay within it)" : ")");
  }
  if (!row.ok) {
    row.found +=
        share <= kFewIllConditioned
            ? "; state \"ill_conditioned\": " + std::to_string(2 * share) + " in the tolerance, which leaves them out"
            : "; more than 1 % cannot be left out: choose families that stay away from the operation's jumps";
  }
  return row;
}

void AdmissionNumbers::add_exact_rows(std::vector<AdmissionRow>& rows) const {
  for (const auto& [name, output] : outputs_) {
    const auto bound = job_.bounds.find(name);
    for (const auto& [family, agree] : output.exact_families) {
      const bool declared =
          bound != job_.bounds.end() && std::ranges::find(bound->second.exact, family) != bound->second.exact.end();
      AdmissionRow row{"exact probe of " + name + ": " + family,
                       declared ? "every order bit-equal" : "stated where possible", "", true};
      row.ok = agree || !declared;
      row.found = declared && agree ? "every order gives the reference, rounded"
                  : declared ? "an order differs: these contents do not make every intermediate result exact; take \"" +
                                   family + "\" out of \"exact\""
                  : agree
                      ? "every order gives the reference, rounded, but the spec does not ask for it: \"exact\": [\"" +
                            family + "\"] would"
                      : "not possible: float32 results are rounded on the way";
      rows.push_back(std::move(row));
    }
  }
}

std::vector<AdmissionRow> AdmissionNumbers::rows() const {
  std::vector<AdmissionRow> rows;
  for (const Order& order : orders_) {
    rows.push_back(row_of(order));
  }
  for (const auto& [name, output] : outputs_) {
    rows.push_back(row_of(name, output));
  }
  add_exact_rows(rows);
  return rows;
}

}  // namespace kf
