// SPDX-License-Identifier: Apache-2.0
#include "gates/sensitivity.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "gates/elements.h"

namespace kf {
namespace {

// A value near by that a kernel is likely to bear: of a count that somebody goes up to, a smaller one.
double other_value(double value, Dtype dtype) {
  if (is_floating(dtype)) {
    return std::isfinite(value) ? 3.0 * value + 1.0 : 1.0;
  }
  if (dtype == Dtype::kBool) {
    return value == 0 ? 1 : 0;
  }
  return value >= 2 ? value - 1 : value + 1;
}

// nullopt: no argument of the plan holds the scalar. Nothing else of a plan can depend on one: expressions name none.
std::optional<ResolvedPlan> with_scalar(const ResolvedPlan& plan, const std::string& name, double value) {
  ResolvedPlan changed = plan;
  bool found = false;
  for (Launch& launch : changed.launches) {
    for (Arg& arg : launch.args) {
      if (arg.kind == Arg::Kind::kScalar && arg.scalar == name) {
        arg.bits = encode_element(value, arg.type);
        found = true;
      }
    }
  }
  return found ? std::optional(std::move(changed)) : std::nullopt;
}

std::string number(double value) {
  std::string text = std::to_string(value);
  text.erase(text.find_last_not_of('0') + 1);
  return text.ends_with('.') ? text.substr(0, text.size() - 1) : text;
}

}  // namespace

void Sensitivity::try_contents(const Points& points) {
  for (const CheckPoint* point : points) {
    const Case& of = trial_.case_of(*point);
    const std::uint64_t seed = derive_seed(seed_at(*point, 0), 81);
    for (std::size_t i = 0; i < of.tensors.size(); ++i) {
      const Tensor& tensor = of.tensors[i];
      if (tensor.role == TensorRole::kOutput || !tensor.values.empty()) {
        continue;
      }
      Effect& effect = effects_[tensor.name];
      effect.tried = true;
      if (!effect.moved) {
        effect.moved =
            bench_.must(moves(*point, trial_.plan_of(*point),
                              [&](CaseBuffers& buffers) {
                                const TensorFill other = trial_.contents(*point, seed).of(tensor, i);
                                bench_.must(bench_.device().fill(buffers.tensors()[i], tensor, other), "filling");
                              }),
                        "running the baseline on " + of.id.value);
      }
    }
  }
}

void Sensitivity::try_listed(const Points& points) {
  for (const CheckPoint* point : points) {
    const Case& of = trial_.case_of(*point);
    for (std::size_t i = 0; i < of.tensors.size(); ++i) {
      if (of.tensors[i].role != TensorRole::kOutput && !of.tensors[i].values.empty()) {
        try_listed_tensor(*point, i);
      }
    }
    for (const auto& [name, value] : of.scalars) {
      try_scalar(*point, name, value);
    }
  }
}

void Sensitivity::try_scalar(const CheckPoint& point, const std::string& name, double value) {
  Effect& effect = effects_[name];
  const auto type = trial_.case_of(point).scalar_types.find(name);
  if (effect.moved || type == trial_.case_of(point).scalar_types.end()) {
    return;
  }
  const double other = other_value(value, type->second);
  const std::optional<ResolvedPlan> changed = with_scalar(trial_.plan_of(point), name, other);
  if (!changed) {
    if (effect.why_not.empty()) {
      effect.why_not =
          "no kernel of the baseline takes it, and the baseline passes: a candidate may ignore it; hand it to the "
          "baseline's kernel, or take it out of the spec";
    }
    return;
  }
  try_on(
      effect, point, *changed, [](CaseBuffers&) {}, number(other) + " in place of " + number(value),
      ": give it several values in the check cases");
}

void Sensitivity::try_on(Effect& effect, const CheckPoint& point, const ResolvedPlan& plan,
                         const std::function<void(CaseBuffers&)>& change, const std::string& with,
                         const std::string& advice) {
  if (!bench_.alive()) {
    effect.refuses = false;
    effect.why_not = "the device was lost when another input was tried";
    return;
  }
  const OrFault<bool> moved = moves(point, plan, change);
  if (moved) {
    effect.tried = true;
    effect.moved = *moved;
    return;
  }
  effect.refuses = false;
  effect.why_not = "with " + with + " the baseline does not end as it should (" +
                   std::string(to_string(moved.error().kind)) + ": " + moved.error().detail + ")" + advice;
}

// Contents that a case lists may be bounded by its sizes, so others are taken from a case of the same sizes only.
void Sensitivity::try_listed_tensor(const CheckPoint& point, std::size_t index) {
  const Case& of = trial_.case_of(point);
  const Tensor& tensor = of.tensors[index];
  Effect& effect = effects_[tensor.name];
  if (effect.moved) {
    return;
  }
  const auto other = std::ranges::find_if(job_.cases, [&](const Case& with) {
    return with.axes == of.axes && with.types == of.types && std::ranges::any_of(with.tensors, [&](const Tensor& t) {
             return t.name == tensor.name && t.extent == tensor.extent && !t.values.empty() &&
                    t.values != tensor.values;
           });
  });
  if (other == job_.cases.end()) {
    effect.refuses = false;
    effect.why_not =
        "each check case lists its contents, and no two of the same sizes list different ones; add such a case";
    return;
  }
  const Tensor& listed = *std::ranges::find(other->tensors, tensor.name, &Tensor::name);
  const auto fill = [&](CaseBuffers& buffers) {
    bench_.must(bench_.device().fill(buffers.tensors()[index], listed, trial_.contents(point, 0).of(listed, index)),
                "filling");
  };
  try_on(effect, point, trial_.plan_of(point), fill, "the contents of " + other->id.value, "");
}

OrFault<bool> Sensitivity::moves(const CheckPoint& point, const ResolvedPlan& plan,
                                 const std::function<void(CaseBuffers&)>& change) {
  const Case& of = trial_.case_of(point);
  const std::uint64_t seed = derive_seed(seed_at(point, 0), 80);
  std::vector<Bytes> answers;
  {
    CaseBuffers buffers = trial_.prepared(point, seed);
    change(buffers);
    if (OrFault<void> ran = trial_.run_baseline(buffers, plan); !ran) {
      return std::unexpected(ran.error());
    }
    for (std::size_t i = 0; i < of.tensors.size(); ++i) {
      answers.push_back(of.tensors[i].role == TensorRole::kInput ? Bytes{} : read_elements(bench_, buffers, i));
    }
  }
  CaseBuffers buffers = trial_.prepared(point, seed);
  for (std::size_t i = 0; i < of.tensors.size(); ++i) {
    if (of.tensors[i].role != TensorRole::kInput) {
      trial_.write_elements(buffers, i, answers[i]);
    }
  }
  return !Trial::all_pass(trial_.judged(point, buffers, seed, derive_seed(seed, 82)));
}

std::vector<AdmissionRow> Sensitivity::rows() const {
  std::set<std::string> names;
  for (const CheckPoint& point : job_.checks) {
    const Case& of = trial_.case_of(point);
    for (const Tensor& tensor : of.tensors) {
      if (tensor.role != TensorRole::kOutput) {
        names.insert(tensor.name);
      }
    }
    for (const auto& [name, value] : of.scalars) {
      names.insert(name);
    }
  }
  std::vector<AdmissionRow> rows;
  for (const std::string& name : names) {
    const auto found = effects_.find(name);
    const Effect effect = found == effects_.end() ? Effect{} : found->second;
    AdmissionRow row{"input " + name, "matters", "moves the answer", effect.moved};
    if (!effect.tried) {
      row.tried = false;
      row.ok = !effect.refuses;
      row.found = "not tried: " + (!effect.why_not.empty() ? effect.why_not
                                                           : "every check case that has it is empty, of constant "
                                                             "contents, or too large; add a small one");
    } else if (!effect.moved) {
      row.found =
          "the answer stays within the tolerance: a kernel may ignore it; tighten the tolerance or choose families "
          "that let it matter";
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace kf
