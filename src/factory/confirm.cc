// SPDX-License-Identifier: Apache-2.0
#include "confirm.h"

#include <algorithm>
#include <limits>

#include "cases.h"
#include "evaluation.h"
#include "score.h"
#include "settle.h"
#include "stop.h"

namespace kf {
namespace {

// Of the best screening figure: three rows of a spec say no more than that about the others.
constexpr double kClose = 1.05;
// Of the best confirmed figure over the same cases: what is ahead by less was lucky in its screening.
constexpr double kClearlyBetter = 1.02;

Candidate candidate_of(const Attempt& attempt) {
  OrErrors<Candidate> candidate = parse_candidate(attempt.source, "attempt " + std::to_string(attempt.id.value));
  if (!candidate) {
    throw Fatal("the source of attempt " + std::to_string(attempt.id.value) + " in the ledger cannot be read:\n" +
                to_string(candidate.error()));
  }
  return std::move(*candidate);
}

EvaluationSettings confirm_settings(const RunSettings& run, const Attempt& attempt) {
  EvaluationSettings settings;
  settings.confirm = settings.held_out = true;
  settings.tune = attempt.tune;
  settings.margin = run.margin;
  settings.secret = run.secret;
  settings.variant = {attempt.id, 0};
  return settings;
}

void refuse_at_confirm(Evaluation& evaluation) {
  Verdict& verdict = evaluation.verdict;
  if (verdict.gate == Gate::kConfirm) {
    return;
  }
  verdict.message = "(" + std::string(to_string(verdict.gate)) + ") " + verdict.message;
  verdict.gate = Gate::kConfirm;
  evaluation.steps.back() = verdict;
}

// Does the plan choose this point for every shape?
bool is_point(const LaunchPlan& plan, const std::optional<Assignment>& point) {
  return plan.select.size() == 1 && point && plan.select.front().second == *point;
}

// With its tune points settled, if that can be; `settled` is then that source. A settled kernel that is refused does
// not speak for the point that the screening chose, which is then confirmed alone.
Evaluation confirm(const Factory& factory, JobBuilder& jobs, const Candidate& candidate,
                   const EvaluationSettings& settings, std::string& settled_source, const std::stop_token& stop) {
  Settled settled;
  try {
    settled = settle_tune(factory, jobs, candidate, settings, stop);
  } catch (const Interrupted&) {
    return {.state = AttemptState::kOpen};
  } catch (const RigFailed& failed) {
    return {.state = AttemptState::kOpen, .rig_fault = failed.fault};
  }
  const auto evaluate_noted = [&](const Candidate& what, const EvaluationSettings& how) {
    Evaluation evaluation = evaluate_with(factory, jobs, what, how, stop);
    evaluation.notes.insert(evaluation.notes.begin(), settled.notes.begin(), settled.notes.end());
    return evaluation;
  };
  if (settled.candidate) {
    EvaluationSettings as_written = settings;
    as_written.tune = Assignment{};
    Evaluation evaluation = evaluate_noted(*settled.candidate, as_written);
    if (evaluation.state != AttemptState::kRejected || is_point(settled.candidate->plan, settings.tune)) {
      settled_source = settled.candidate->source;
      return evaluation;
    }
    settled.notes.push_back("settled by shape it was refused (" + evaluation.verdict.reason + ": " +
                            evaluation.verdict.message + "); confirmed with the screening's tune point");
  }
  return evaluate_noted(candidate, settings);
}

bool was_confirmed(const Attempt& attempt) {
  return attempt.score && attempt.score->confirmed;
}

// The best, and then those close behind it that the screening may have done wrong.
// `made`: confirmations of this start, which its limit is about.
Attempt* next_to_confirm(const Factory& factory, const RunSettings& settings, std::vector<Attempt>& attempts,
                         std::int32_t made) {
  std::int32_t confirmed = 0;
  Attempt* next = nullptr;  // the best of the others
  double confirmed_value = std::numeric_limits<double>::infinity(), next_value = confirmed_value;
  for (const Ranked& of : ranking(attempts)) {
    Attempt& attempt = *std::ranges::find(attempts, of.id, &Attempt::id);
    if (was_confirmed(attempt)) {
      ++confirmed;
      confirmed_value = std::min(confirmed_value, of.value);
    } else if (next == nullptr) {
      next = &attempt;
      next_value = of.value;
    }
  }
  if (next == nullptr || confirmed == 0) {
    return next;
  }
  if (made >= settings.confirmed_attempts) {
    return nullptr;
  }
  const bool estimate = next->score->method == ClockMethod::kEstimate;  // without noise: any lead is one
  if (next_value * (estimate ? 1.0 : kClearlyBetter) < confirmed_value) {
    return next;
  }
  const std::size_t all = choose_cases(*factory.spec, factory.facts, {}).time.size();
  const bool unseen = next->score->cases.size() < all && !estimate;
  return unseen && next_value <= kClose * confirmed_value && confirmed < settings.confirmed_attempts ? next : nullptr;
}

void tell_notes(const Factory& factory, AttemptId attempt, const std::vector<std::string>& notes) {
  for (const std::string& note : notes) {
    if (factory.observe) {
      factory.observe({Event::Kind::kNote, attempt, note, {}});
    }
  }
}

}  // namespace

std::optional<Champion> champion_of(std::span<const Attempt> visible) {
  const std::optional<AttemptId> best = best_attempt(visible);
  if (!best) {
    return std::nullopt;
  }
  const Attempt& attempt = *std::ranges::find(visible, *best, &Attempt::id);
  return Champion{*best, candidate_of(attempt), attempt.tune};
}

void confirm_champion(const Factory& factory, const RunSettings& settings, JobBuilder& jobs, RunResult& result,
                      std::stop_token stop) {
  std::int32_t made = 0;
  while (Attempt* const next = next_to_confirm(factory, settings, result.attempts, made++)) {
    Attempt& attempt = *next;
    Evaluation evaluation =
        confirm(factory, jobs, candidate_of(attempt), confirm_settings(settings, attempt), attempt.settled, stop);
    if (evaluation.state == AttemptState::kOpen) {
      result.reason = evaluation.rig_fault ? StopReason::kRigFailed : StopReason::kInterrupted;
      result.detail =
          evaluation.rig_fault ? evaluation.rig_fault->what : "interrupted while the champion was confirmed";
      return;
    }
    if (evaluation.state == AttemptState::kRejected) {
      refuse_at_confirm(evaluation);
    }
    AttemptLog log(*factory.ledger, attempt.id, factory.ledger->read(attempt.id, attempt.id));
    log.evaluated(evaluation);
    tell_notes(factory, attempt.id, evaluation.notes);
    attempt.verdict = evaluation.verdict;
    attempt.state = evaluation.state;
    attempt.score = evaluation.score;
    attempt.costs = evaluation.costs;
    attempt.checked = evaluation.checked;
    if (!evaluation.kernels.empty()) {
      attempt.kernels = evaluation.kernels;  // a settled one may be another variant than the screened one
    }
    log.closed(attempt);
    if (attempt.score) {
      write_event(*factory.ledger, "champion", "confirmed", attempt.id);
    }
  }
}

}  // namespace kf
