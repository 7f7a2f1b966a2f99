// SPDX-License-Identifier: Apache-2.0
#include "confirm.h"

#include <algorithm>

#include "evaluation.h"
#include "score.h"

namespace kf {
namespace {

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
  while (const std::optional<AttemptId> best = best_attempt(result.attempts)) {
    Attempt& attempt = *std::ranges::find(result.attempts, *best, &Attempt::id);
    if (attempt.score->confirmed) {
      return;
    }
    Evaluation evaluation =
        evaluate_with(factory, jobs, candidate_of(attempt), confirm_settings(settings, attempt), stop);
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
    attempt.verdict = evaluation.verdict;
    attempt.state = evaluation.state;
    attempt.score = evaluation.score;
    attempt.costs = evaluation.costs;
    log.closed(attempt);
    if (attempt.score) {
      write_event(*factory.ledger, "champion", "confirmed", attempt.id);
    }
  }
}

}  // namespace kf
