// SPDX-License-Identifier: Apache-2.0
#include "reports.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "explain.h"
#include "format/attempt_json.h"
#include "format/outcome_json.h"

namespace kf {
namespace {

using Json = nlohmann::ordered_json;

// Bytes that are not UTF-8 (from a candidate or a model) become U+FFFD instead of an exception.
std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json device_json(const ReportedDevice& device) {
  const DeviceFacts& facts = device.facts;
  if (facts.kind.empty()) {  // none was opened
    return nullptr;
  }
  Json json{{"kind", facts.kind},
            {"name", facts.name},
            {"arch", facts.arch},
            {"driver", facts.driver},
            {"source", facts.source}};
  if (!device.note.empty()) {
    json["note"] = device.note;
  }
  return json;
}

// A verdict as in the ledger, and whose it is where a gate comes several times.
Json step_json(const Verdict& step) {
  constexpr std::array<std::string_view, 4> kNames{"", "emulator_first", "few_cases", "the_rest"};
  Json json = Json::parse(verdict_json(step));
  if (step.of != Launches::kNone) {
    json["of"] = kNames.at(static_cast<std::size_t>(step.of));
  }
  return json;
}

Json score_or_null(const std::optional<Score>& score) {
  return score ? Json::parse(score_json(*score)) : Json(nullptr);
}

// One object a refusal that names places in the source.
Json explain_json(const Evaluation& evaluation, const std::string& source) {
  Json list = Json::array();
  for (const Verdict& step : evaluation.steps) {
    const std::vector<ExplainedPlace> explained = step.passed ? std::vector<ExplainedPlace>() : explain(step, source);
    if (explained.empty()) {
      continue;
    }
    Json one{{"gate", to_string(step.gate)}, {"reason", step.reason}};
    if (step.finding) {
      one["finding"] = step.finding->kind;
      one["what"] = step.finding->what;
      one["kernel"] = step.finding->kernel;
      one["block"] = step.finding->block;
      one["thread"] = step.finding->thread;
    }
    one["places"] = Json::array();
    for (const ExplainedPlace& at : explained) {
      one["places"].push_back({{"role", at.place.role},
                               {"line", at.place.line},
                               {"ptx_line", at.place.ptx_line},
                               {"instruction", at.place.instruction},
                               {"first_line", at.first_line},
                               {"lines", at.lines}});
    }
    list.push_back(std::move(one));
  }
  return list;
}

}  // namespace

std::string event_report(const Event& event) {
  constexpr std::array<std::string_view, 11> kNames{"run_started", "asked",    "replied",    "built",
                                                    "verdict",     "measured", "champion",   "repairing",
                                                    "lessons",     "note",     "run_stopped"};
  Json json{{"event", kNames.at(static_cast<std::size_t>(event.kind))}};
  if (event.attempt.value != 0) {
    json["attempt"] = event.attempt.value;
  }
  json["text"] = event.text;
  if (event.speedup) {
    json["speedup"] = *event.speedup;
    json["estimate"] = event.estimate;
  }
  return dump(json);
}

std::string run_report(const RunResult& result, const std::string& folder, const ReportedDevice& device, int exit_code,
                       const std::string& go_on) {
  Json json{{"kfactory_run", 1}, {"stopped", to_string(result.reason)}, {"detail", result.detail}, {"folder", folder}};
  json["device"] = device_json(device);
  json["attempts"] = result.attempts.size();
  json["champion"] = result.champion ? Json(result.champion->value) : Json(nullptr);
  json["beat_baseline"] = result.beat_baseline;
  json["lessons"] = result.lessons.size();
  json["exit_code"] = exit_code;
  json["go_on"] = go_on.empty() ? Json(nullptr) : Json(go_on);
  return dump(json);
}

std::string eval_report(const Spec& spec, const std::string& candidate, const std::string& source,
                        const Evaluation& evaluation, const ReportedDevice& device) {
  Json json{
      {"kfactory_eval", 1}, {"spec", spec.name}, {"candidate", candidate}, {"state", to_string(evaluation.state)}};
  json["passes"] = evaluation.passes.value_or(0);
  json["checked"] = Json::parse(checked_json(evaluation.checked));
  json["device"] = device_json(device);
  json["executed"] = device.facts.kind != "none";
  json["verdict"] = Json::parse(verdict_json(evaluation.verdict));
  json["steps"] = Json::array();
  for (const Verdict& step : evaluation.steps) {
    json["steps"].push_back(step_json(step));
  }
  json["explain"] = explain_json(evaluation, source);
  json["tune"] = evaluation.tune;
  json["variants"] = evaluation.variants;
  json["kernels"] = Json::parse(kernels_json(evaluation.kernels));
  json["score"] = score_or_null(evaluation.score);
  json["notes"] = evaluation.notes;
  json["costs"] = Json::parse(costs_json(evaluation.costs));
  if (evaluation.rig_fault) {
    json["rig_fault"] = {{"reason", evaluation.rig_fault->reason}, {"what", evaluation.rig_fault->what}};
  }
  return dump(json);
}

std::string check_report(const Spec& spec, const SpecCheck& check, const ReportedDevice& device) {
  Json json{{"kfactory_check", 1},  {"spec", spec.name},    {"device", device_json(device)},
            {"cases", check.cases}, {"built", check.built}, {"problems", check.problems}};
  if (check.admission.report) {
    json["admission"] = Json::parse(admission_json(*check.admission.report));
    json["admission"].erase("ranges");  // what some of the warnings are made of
  } else {
    json["admission"] = nullptr;
    json["admission_not_run"] = check.admission.why_not;
  }
  json["warnings"] = Json::array();
  for (const AdmissionRow& warning : check.warnings) {
    json["warnings"].push_back({{"name", warning.name}, {"expected", warning.expected}, {"found", warning.found}});
  }
  return dump(json);
}

std::string show_report(const std::vector<Attempt>& attempts) {
  Json list = Json::array();
  for (const Attempt& attempt : attempts) {
    list.push_back(Json::parse(attempt_json(attempt)));
  }
  return dump(Json{{"kfactory_show", 1}, {"attempts", std::move(list)}});
}

std::string bench_report(const Spec& spec, const std::vector<BenchResult>& results, const ReportedDevice& device) {
  Json winners = Json::array();
  for (const BenchResult& result : results) {
    winners.push_back({{"attempt", result.attempt.value},
                       {"state", to_string(result.evaluation.state)},
                       {"verdict", Json::parse(verdict_json(result.evaluation.verdict))},
                       {"score", score_or_null(result.evaluation.score)},
                       {"checked", Json::parse(checked_json(result.evaluation.checked))},
                       {"notes", result.evaluation.notes},
                       {"costs", Json::parse(costs_json(result.evaluation.costs))}});
  }
  return dump(Json{
      {"kfactory_bench", 1}, {"spec", spec.name}, {"device", device_json(device)}, {"winners", std::move(winners)}});
}

std::string bench_csv(const std::vector<BenchResult>& results) {
  std::string csv =
      "attempt,case,method,state,winner_ns,winner_low_ns,winner_high_ns,baseline,baseline_ns,copy_ns,floor_ns,"
      "winner_over_baseline,low,high,verdict,winner_cupti_ns,baseline_cupti_ns,copy_cupti_ns\n";
  for (const BenchResult& result : results) {
    if (!result.evaluation.score) {
      continue;
    }
    const Score& score = *result.evaluation.score;
    constexpr std::array<std::string_view, 3> kStates{"cold", "steady", "warm"};
    for (const CaseScore& of : score.cases) {
      csv += fmt::format(
          "{},\"{}\",{},{},{:.1f},{:.1f},{:.1f},{},{:.1f},{:.1f},{:.1f},{:.5f},{:.5f},{:.5f},{},{:.1f},{:.1f},{:.1f}\n",
          result.attempt.value, of.case_id, to_string(score.method), kStates.at(static_cast<std::size_t>(score.state)),
          of.candidate.median, of.candidate.low, of.candidate.high, of.baseline_name, of.baseline.median,
          of.copy.median, of.floor_nanoseconds, of.to_baseline.median, of.to_baseline.low, of.to_baseline.high,
          to_string(of.against_baseline), of.candidate_records.median, of.baseline_records.median,
          of.copy_records.median);
    }
  }
  return csv;
}

}  // namespace kf
