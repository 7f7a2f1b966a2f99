// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <iterator>
#include <numeric>
#include <set>

#include "gates/admission_numbers.h"
#include "gates/check.h"
#include "gates/elements.h"
#include "gates/gates.h"
#include "gates/influence.h"
#include "gates/launch_check.h"
#include "gates/output_nulls.h"
#include "gates/ranges.h"
#include "gates/relations.h"
#include "gates/sensitivity.h"
#include "gates/trial.h"

namespace kf {
namespace {

// Null candidates go through host memory, so only cases of moderate size are used.
constexpr std::int64_t kNullBytes = 32LL << 20;
constexpr std::size_t kNullCases = 3;
constexpr std::size_t kMoreNulls = 8;        // points for an output that passes the first ones
constexpr std::int32_t kNumberCases = 1;     // where the reference has no variants
constexpr std::size_t kEmulatedNumbers = 8;  // points; each takes six launches
// Where a constant may be the right answer.
constexpr std::array<std::string_view, 3> kFlatFamilies{"zero", "zeros_signed", "constant"};

std::string baseline_name(const Job& job) {
  const std::string& name = job.arms[0].name;
  return "baseline " + (name.starts_with("baseline:") ? name.substr(name.find(':') + 1) : name);
}

class Admission {
 public:
  Admission(Bench& bench, const Job& job, const PhaseObserver& phase)
      : bench_(bench),
        job_(job),
        phase_(phase),
        checker_(bench, job, job.arms[0], phase),
        trial_(bench, job, checker_.reference()),
        sensitivity_(bench, job, trial_) {}

  AdmissionReport run() {
    baseline_passes();
    untested_relations();
    const std::vector<const CheckPoint*> chosen = chosen_points();
    for (const CheckPoint* point : chosen) {
      null_candidates(*point);
    }
    if (chosen.empty()) {
      nothing_varied();
    }
    outputs_matter(chosen);
    sensitivity_.try_contents(chosen);
    numbers();
    append(influence_rows(bench_, job_, checker_.reference()));
    report_.ranges = output_ranges(bench_, job_, checker_.reference(), kNullBytes);
    sensitivity_.try_listed(chosen);  // last: it may end the device
    append(sensitivity_.rows());
    return std::move(report_);
  }

 private:
  void row(std::string name, std::string expected, std::string found, bool ok, bool tried = true) {
    report_.rows.push_back({std::move(name), std::move(expected), std::move(found), ok, tried});
    report_.admitted = report_.admitted && ok;
  }
  const Case& case_of(const CheckPoint& point) const { return trial_.case_of(point); }

  static bool is_varied(const CheckPoint& point) {
    return std::ranges::find(kFlatFamilies, point.family) == kFlatFamilies.end();
  }

  // Without a family whose answer varies nothing could be tried, and a constant passes.
  void nothing_varied() {
    const bool computes = std::ranges::any_of(job_.checks, [&](const CheckPoint& point) {
      return std::ranges::any_of(case_of(point).tensors,
                                 [](const Tensor& t) { return t.role != TensorRole::kInput && t.elements() > 0; });
    });
    if (computes && std::ranges::none_of(job_.checks, is_varied)) {
      row("null candidates", "refused",
          "not tried: the families of the inputs (zero, zeros_signed, constant) may make a constant the right answer; "
          "add one that varies, such as normal",
          false);
    }
  }

  // The first check of cases that have something to compute, of families whose answer is no constant: one for each
  // choice of types, up to three, and one more for each tensor that the others lack.
  std::vector<const CheckPoint*> chosen_points() const {
    std::vector<const CheckPoint*> points;
    std::set<Map<Dtype>> types;
    std::set<std::string> met;
    for (const CheckPoint& point : job_.checks) {
      const Case& of = case_of(point);
      // The mean of one element is that element.
      const bool small = std::ranges::any_of(of.tensors, [&](const Tensor& t) {
        return t.elements() == 0 || (t.role != TensorRole::kInput && t.elements() == 1 && !points.empty());
      });
      const bool lacks = std::ranges::any_of(of.tensors, [&](const Tensor& t) { return !met.contains(t.name); });
      const bool other = points.size() < kNullCases && !types.contains(of.types);
      if (is_varied(point) && !small && bytes_of(of) <= kNullBytes && (lacks || other)) {
        points.push_back(&point);
        types.insert(of.types);
        std::ranges::transform(of.tensors, std::inserter(met, met.end()), &Tensor::name);
      }
    }
    return points;
  }

  // The spec's own baseline, through every gate of a run's checks: a spec that its baseline fails cannot judge anybody.
  void baseline_passes() {
    const CheckReport report = check_all(bench_, job_, phase_, {});
    const Verdict& verdict = report.verdict;
    if (verdict.passed) {
      std::set<std::int32_t> cases;
      std::ranges::transform(job_.checks, std::inserter(cases, cases.end()), &CheckPoint::case_index);
      row(baseline_name(job_), "passes every check of a run",
          "passed " + std::to_string(verdict.checks) + " checks on " + std::to_string(cases.size()) + " cases", true);
      return;
    }
    row(baseline_name(job_) + " on " + verdict.case_id + " (" + verdict.family + ")", "passes every check of a run",
        std::string(to_string(verdict.gate)) + ": " + verdict.reason + ": " + verdict.message + ". " + advice(verdict),
        false);
    if (!bench_.alive()) {
      throw RigFailure{{Fault::Kind::kRig, verdict.reason, "the baseline ended the device: " + verdict.message}};
    }
  }

  // A relation that no check reaches would be a claim that nobody tests.
  void untested_relations() {
    for (const std::string& relation : job_.relations) {
      if (point_for_relation(job_, relation) == nullptr) {
        row("relation " + relation, "is tested on a check case", "not tried: " + why_no_point(job_, relation), false,
            false);
      }
    }
  }

  // What to change where the baseline is refused: it is meant to be right, so the reference or the tolerance may be
  // not.
  std::string advice(const Verdict& verdict) const {
    if (verdict.reason == "inexact") {
      return "Change: take \"" + verdict.family + "\" out of \"exact\", or repair the baseline";
    }
    if (verdict.reason == "mismatch" && verdict.mismatch && is_integer_output(verdict.mismatch->output)) {
      return "Integers must be equal. Change: where they are rounded values, let the reference round the same float32 "
             "operations as the baseline (docs/formats/spec.md, Rounding to integers); where they are indices, state "
             "\"ties\"; else repair the baseline";
    }
    if (verdict.reason == "mismatch" && verdict.gate == Gate::kCheck) {
      return "Change: where the rows \"float32 order\" below need as much, raise acc or state a condition; else the "
             "reference or the baseline computes something else";
    }
    return "Change: repair the baseline; a candidate that does this is refused too";
  }
  bool is_integer_output(const std::string& name) const {
    return std::ranges::any_of(job_.cases, [&](const Case& of) {
      return std::ranges::any_of(of.tensors, [&](const Tensor& t) { return t.name == name && !is_floating(t.dtype); });
    });
  }

  // Orders of summation, conditioning and exactness, on every family of the smaller cases.
  void numbers() {
    AdmissionNumbers numbers(bench_, job_, checker_.reference(), trial_);
    std::size_t left = bench_.device().facts().kind == "emulator" ? kEmulatedNumbers : job_.checks.size();
    for (const CheckPoint& point : job_.checks) {
      if (left > 0 && bytes_of(case_of(point)) <= kNullBytes && has_orders(point.case_index)) {
        numbers.look_at(point);
        --left;
      }
    }
    append(numbers.rows());
  }
  // The reference's variants are built for a job's first cases only.
  bool has_orders(std::int32_t index) const {
    const auto built = [](const ReferenceVariant& variant) {
      return variant.kind != ReferenceVariant::Kind::kWideInputs && variant.unavailable.empty();
    };
    const auto for_case = [&](const ReferenceVariant& variant) {
      const auto at = static_cast<std::size_t>(index);
      return built(variant) && at < variant.arm.plans.size() && !variant.arm.plans[at].slice_case.tensors.empty();
    };
    return std::ranges::any_of(job_.variants, built) ? std::ranges::any_of(job_.variants, for_case)
                                                     : index < kNumberCases;
  }
  void append(std::vector<AdmissionRow> rows) {
    for (AdmissionRow& added : rows) {
      report_.admitted = report_.admitted && added.ok;
      report_.rows.push_back(std::move(added));
    }
  }

  // ---- null candidates: outputs as a kernel without work could leave them --------------------------

  struct Null {
    std::string name;
    // Dense elements for output `index`; nullopt: this null candidate does not apply to it.
    std::function<std::optional<Bytes>(const CaseBuffers&, std::size_t index)> elements;
  };

  // Null candidates that an output passes are tried on it with more contents: one wrong element anywhere will do.
  void outputs_matter(const std::vector<const CheckPoint*>& chosen) {
    std::size_t left = kMoreNulls;
    for (const CheckPoint& point : job_.checks) {
      const std::vector<std::string> open = output_nulls_.open();
      if (open.empty() || left == 0) {
        break;
      }
      if (!is_varied(point) || bytes_of(case_of(point)) > kNullBytes ||
          std::ranges::find(chosen, &point) != chosen.end()) {
        continue;
      }
      --left;
      for (const Null& null : constant_nulls(point)) {
        if (std::ranges::find(open, null.name) != open.end()) {
          output_nulls_.note(null.name, answered(point, null).value_or(std::vector<Mismatch>{}));
        }
      }
    }
    append(output_nulls_.rows());
  }

  std::vector<Null> constant_nulls(const CheckPoint& point) {
    const std::uint64_t seed = seed_at(point, 0);
    const Case& of = case_of(point);
    std::vector<Null> nulls;
    for (const auto& [name, value] :
         {std::pair{"zeros", 0.0}, std::pair{"ones", 1.0}, std::pair{"a constant (0.5)", 0.5}}) {
      nulls.push_back({name, [&of, wanted = value](const CaseBuffers&, std::size_t index) {
                         return constant(of.tensors[index], wanted);
                       }});
    }
    nulls.push_back({"the reference's mean", [this, &of, &point](const CaseBuffers& buffers, std::size_t index) {
                       return constant(of.tensors[index], mean(point, buffers, index));
                     }});
    nulls.push_back({"another seed's answer", [this, &point, seed](const CaseBuffers&, std::size_t index) {
                       return other_answer(point, derive_seed(seed, 72), index);
                     }});
    return nulls;
  }

  void null_candidates(const CheckPoint& point) {
    const Case& of = case_of(point);
    try_null(point, {"nothing written", nullptr});
    for (const Null& null : constant_nulls(point)) {
      output_nulls_.note(null.name, try_null(point, null));
    }
    for (std::size_t input = 0; input < of.tensors.size(); ++input) {
      if (of.tensors[input].role != TensorRole::kOutput) {
        try_null(point,
                 {"a copy of " + of.tensors[input].name, [&, input](const CaseBuffers& buffers, std::size_t index) {
                    return copy_of(buffers, input, index);
                  }});
      }
    }
  }

  // A null candidate that gets one output right and others wrong is refused; see OutputNulls for the one.
  std::vector<Mismatch> try_null(const CheckPoint& point, const Null& null) {
    std::optional<std::vector<Mismatch>> outputs = answered(point, null);
    if (!outputs) {
      return {};
    }
    const bool refused = !Trial::all_pass(*outputs);
    row("null candidate: " + null.name + ", on " + case_of(point).id.value + " (" + point.family + ")", "refused",
        refused ? "refused"
                : "passed: the tolerance or the data cannot tell it from an answer; tighten the one or choose "
                  "families with more variation",
        refused);
    return *std::move(outputs);
  }

  // nullopt: the null candidate applies to no output.
  std::optional<std::vector<Mismatch>> answered(const CheckPoint& point, const Null& null) {
    const std::uint64_t seed = derive_seed(seed_at(point, 0), 73);
    const Case& of = case_of(point);
    CaseBuffers buffers = trial_.prepared(point, seed);
    bool applies = null.elements == nullptr;
    for (std::size_t i = 0; i < of.tensors.size() && null.elements; ++i) {
      if (of.tensors[i].role == TensorRole::kInput) {
        continue;
      }
      if (const std::optional<Bytes> dense = null.elements(buffers, i)) {
        trial_.write_elements(buffers, i, *dense);
        applies = true;
      }
    }
    std::optional<std::vector<Mismatch>> outputs;
    if (applies) {
      outputs = trial_.judged(point, buffers, seed, derive_seed(seed, 71));
      buffers.scrub_outputs(derive_seed(seed, 74));
    }
    return outputs;
  }

  static Bytes constant(const Tensor& tensor, double value) {
    const auto size = static_cast<std::size_t>(size_in_bytes(tensor.dtype));
    const std::uint64_t bits = encode_element(value, tensor.dtype);
    Bytes dense(static_cast<std::size_t>(tensor.elements()) * size);
    for (std::size_t at = 0; at < dense.size(); at += size) {
      std::memcpy(&dense[at], &bits, size);
    }
    return dense;
  }
  double mean(const CheckPoint& point, const CaseBuffers& buffers, std::size_t index) {
    const std::uint64_t seed = derive_seed(seed_at(point, 0), 73);
    const std::vector<double> values =
        checker_.reference().values(point.case_index, buffers, trial_.contents(point, seed),
                                    case_of(point).tensors[index].name, derive_seed(seed, 75));
    double sum = 0;
    std::size_t count = 0;
    for (const double value : values) {
      if (std::isfinite(value)) {
        sum += value;
        ++count;
      }
    }
    return count == 0 ? 0.0 : sum / static_cast<double>(count);
  }
  std::optional<Bytes> copy_of(const CaseBuffers& buffers, std::size_t input, std::size_t output) {
    const Tensor& from = buffers.of().tensors[input];
    const Tensor& to = buffers.of().tensors[output];
    // An inout tensor that keeps what it held is "nothing written", which has its own row.
    if (input == output || from.dtype != to.dtype || from.extent != to.extent) {
      return std::nullopt;
    }
    return read_elements(bench_, buffers, input);
  }
  std::optional<Bytes> other_answer(const CheckPoint& point, std::uint64_t seed, std::size_t index) {
    CaseBuffers buffers = trial_.prepared(point, seed);
    bench_.must(trial_.run_baseline(buffers, trial_.plan_of(point)),
                "running the baseline on " + case_of(point).id.value);
    return read_elements(bench_, buffers, index);
  }

  Bench& bench_;
  const Job& job_;
  const PhaseObserver& phase_;
  LaunchChecker checker_;
  Trial trial_;
  Sensitivity sensitivity_;
  AdmissionReport report_;
  OutputNulls output_nulls_;
};

}  // namespace

std::expected<AdmissionReport, Fault> run_admission(Device& device, const Job& job, const PhaseObserver& phase) {
  if (job.arms.empty() || job.arms[0].plans.size() != job.cases.size()) {
    return std::unexpected(
        Fault{Fault::Kind::kRig, "garbage", "admission needs the naive baseline with one plan a case"});
  }
  Bench bench(device);
  try {
    return Admission(bench, job, phase).run();
  } catch (const RigFailure& failure) {
    return std::unexpected(failure.fault);
  }
}

}  // namespace kf
