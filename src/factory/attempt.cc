// SPDX-License-Identifier: Apache-2.0
#include "attempt.h"

#include <algorithm>

#include <kfactory/audit.h>

#include "cases.h"
#include "evaluation.h"
#include "score.h"

namespace kf {
namespace {

using Why = AttemptEnd::Why;

// One attempt under way: its task, its records, and what is known of it so far.
struct Walk {
  const AttemptTask& task;
  AttemptLog log;
  Attempt attempt;
  std::stop_token stop;

  void tell(Event::Kind kind, std::string text, const std::optional<Score>& score = {}) const {
    if (task.factory->observe) {
      task.factory->observe(score ? scored_event(kind, attempt.id, std::move(text), *score)
                                  : Event{kind, attempt.id, std::move(text), {}});
    }
  }
};

using Answer = std::expected<Reply, AttemptEnd>;

Verdict reply_verdict(std::string reason, std::string message) {
  Verdict verdict;
  verdict.passed = false;
  verdict.gate = Gate::kReply;
  verdict.reason = std::move(reason);
  verdict.message = std::move(message);
  return verdict;
}

AttemptEnd close(Walk& walk, AttemptState state, std::chrono::steady_clock::time_point begun) {
  walk.attempt.state = state;
  walk.attempt.duration =
      std::chrono::duration_cast<std::chrono::milliseconds>(walk.task.factory->clock->now() - begun);
  walk.log.closed(walk.attempt);
  return {Why::kClosed, std::move(walk.attempt), {}};
}

AttemptEnd reject(Walk& walk, Verdict verdict, std::chrono::steady_clock::time_point begun) {
  walk.tell(Event::Kind::kVerdict, verdict.reason + ": " + verdict.message);
  Evaluation refused;
  refused.steps = {verdict};
  walk.log.evaluated(refused);
  walk.attempt.verdict = std::move(verdict);
  return close(walk, AttemptState::kRejected, begun);
}

// Why an attempt stays open instead of being closed without a reply: asking again later may well succeed.
std::optional<Why> stays_open(const ModelError& error, const std::stop_token& stop) {
  if (error.kind == ModelError::Kind::kWaiting) {
    return Why::kWaiting;
  }
  if (error.kind == ModelError::Kind::kCancelled || stop.stop_requested()) {
    return Why::kInterrupted;
  }
  if (error.kind == ModelError::Kind::kBudget) {  // what was spent on it must be recorded, or a resume forgets it
    return tokens_of(error.spent) > 0 ? std::nullopt : std::optional(Why::kBudget);
  }
  const bool this_one_only = error.run_can_go_on || error.kind == ModelError::Kind::kNoReply;
  return this_one_only ? std::nullopt : std::optional(Why::kModelFailed);
}

// The n-th answer of this attempt: the recorded one, else the model's.
Answer answer_to(Walk& walk, std::size_t n, const ModelCall& call) {
  const std::vector<std::expected<Reply, ModelError>>& recorded = walk.task.records.replies;
  const bool known = n < recorded.size();
  if (!known) {
    if (std::string spent = walk.task.factory->spending->refusal(); !spent.empty()) {
      return std::unexpected(AttemptEnd{Why::kBudget, walk.attempt, std::move(spent)});
    }
    walk.tell(Event::Kind::kAsked, std::string(to_string(call.role)) + " " + std::to_string(call.ordinal));
  }
  std::expected<Reply, ModelError> reply =
      known ? recorded[n] : model_for(*walk.task.factory, call.role).ask(call, walk.stop);
  if (!reply && !known) {
    if (const std::optional<Why> why = stays_open(reply.error(), walk.stop)) {
      return std::unexpected(AttemptEnd{*why, walk.attempt, reply.error().message});
    }
  }
  if (!known) {
    walk.log.replied(reply);
    walk.task.factory->spending->add(reply ? reply->usage : reply.error().spent);
    walk.tell(Event::Kind::kReplied, reply ? std::to_string(reply->text.size()) + " bytes" : reply.error().message);
    for (const std::string& note : reply ? reply->notes : std::vector<std::string>()) {
      walk.tell(Event::Kind::kNote, note);
    }
  }
  walk.attempt.usage = walk.attempt.usage + (reply ? reply->usage : reply.error().spent);
  if (!reply) {
    walk.attempt.verdict = reply_verdict("no_reply", reply.error().message);
    return std::unexpected(AttemptEnd{Why::kClosed, walk.attempt, {}});
  }
  return std::move(*reply);
}

// Reads the candidate; an answer that cannot be read is asked for again once, with its errors.
std::expected<OrErrors<Candidate>, AttemptEnd> candidate_of(Walk& walk) {
  const AttemptRecords& records = walk.task.records;
  const ModelCall& first = records.calls.front();
  Answer answer = answer_to(walk, 0, first);
  if (!answer) {
    return std::unexpected(std::move(answer.error()));
  }
  OrErrors<Candidate> candidate = read_candidate(answer->text);
  if (candidate) {
    return candidate;
  }
  walk.log.unreadable(candidate.error());
  const ModelCall again = records.calls.size() > 1
                              ? records.calls[1]
                              : compose_reask(first, answer->text, candidate.error(), first.ordinal + kReaskOrdinal);
  if (records.calls.size() < 2) {
    walk.log.reask(records.proposal, again);
  }
  Answer second = answer_to(walk, 1, again);
  if (!second) {
    if (second.error().why == Why::kClosed) {
      return candidate;  // no second answer: the first one's errors are what there is
    }
    return std::unexpected(std::move(second.error()));
  }
  candidate = read_candidate(second->text);
  if (!candidate) {
    walk.log.unreadable(candidate.error());
  }
  return candidate;
}

std::optional<AttemptId> same_source_as(const AttemptTask& task, const std::string& source) {
  const auto same = std::ranges::find(task.visible, source, &Attempt::source);
  return same == task.visible.end() ? std::nullopt : std::optional(same->id);
}

EvaluationSettings evaluation_settings(const AttemptTask& task) {
  const RunSettings& run = *task.settings;
  EvaluationSettings settings;
  settings.time_cases = screening_cases(*task.factory->spec, task.factory->facts, run.screen_cases);
  settings.scaled_cases = run.screen_cases;
  settings.max_variants = run.max_variants;
  settings.max_quads = kScreenQuads;
  settings.margin = run.margin;
  settings.secret = run.secret;
  settings.variant = {task.records.id, 0};
  if (task.champion) {
    settings.champion = task.champion->candidate;
    settings.champion_tune = task.champion->tune;
  }
  return settings;
}

// A measurement that was recorded before an interruption is not made again: its samples say everything.
void reuse_measurement(const AttemptTask& task, Evaluation& evaluation) {
  evaluation.measurement = task.records.measurement;
  evaluation.score = score_of(*task.factory->spec, task.factory->facts, *evaluation.measurement, task.settings->margin);
  evaluation.state = AttemptState::kMeasured;
  evaluation.verdict =
      task.records.verdict.value_or(evaluation.verdict);  // of the timed run, recorded before its samples
}

Evaluation evaluate_attempt(Walk& walk, const Candidate& candidate) {
  const AttemptTask& task = walk.task;
  EvaluationSettings settings = evaluation_settings(task);
  const bool measured = task.records.measurement.has_value();
  settings.time = !measured;
  Evaluation evaluation = evaluate_with(*task.factory, *task.jobs, candidate, settings, walk.stop);
  if (measured && evaluation.state == AttemptState::kBuilt) {
    reuse_measurement(task, evaluation);
  }
  return evaluation;
}

void describe(Walk& walk, const Candidate& candidate, const Evaluation& evaluation) {
  Attempt& attempt = walk.attempt;
  attempt.verdict = evaluation.verdict;
  attempt.tune = evaluation.tune;
  attempt.variants = evaluation.variants;
  attempt.kernels = evaluation.kernels;
  attempt.score = evaluation.score;
  attempt.costs = evaluation.costs;
  attempt.checked = evaluation.checked;
  if (!evaluation.tune.empty()) {
    const OrErrors<Candidate> settled = settle(candidate, {{"", evaluation.tune}}, "settled candidate");
    attempt.settled = settled ? settled->source : "";
  }
  if (!evaluation.builds.empty()) {
    attempt.source_hash = normalised_ptx_hash(evaluation.builds.front().ptx);
  }
  for (const std::string& note : evaluation.notes) {
    walk.tell(Event::Kind::kNote, note);
  }
  if (evaluation.state == AttemptState::kBuilt) {
    walk.tell(Event::Kind::kBuilt, std::to_string(evaluation.builds.size()) + " builds");
  }
  if (evaluation.score) {
    walk.tell(Event::Kind::kMeasured,
              std::string(to_string(evaluation.score->against_baseline)) + " against the baseline", evaluation.score);
  }
}

}  // namespace

Model& model_for(const Factory& factory, Role role) {
  const auto own = factory.models.find(to_string(role));
  return own == factory.models.end() ? *factory.writer : *own->second;
}

AttemptEnd run_attempt(const AttemptTask& task, std::stop_token stop) {
  const auto begun = task.factory->clock->now();
  Walk walk{task, AttemptLog(*task.factory->ledger, task.records.id, task.records.all), {}, stop};
  walk.attempt.id = task.records.id;
  walk.attempt.role = task.records.proposal.role;
  walk.attempt.ordinal = task.records.ordinal;
  walk.attempt.parent = task.records.proposal.parent;
  walk.attempt.direction = task.records.proposal.direction;

  std::expected<OrErrors<Candidate>, AttemptEnd> candidate = candidate_of(walk);
  if (!candidate) {
    return candidate.error().why == Why::kClosed ? close(walk, AttemptState::kNoReply, begun)
                                                 : std::move(candidate.error());
  }
  if (!*candidate) {
    return reject(walk, reply_verdict("unreadable", to_string(candidate->error())), begun);
  }
  const Candidate& source = **candidate;
  walk.log.candidate(source);
  walk.attempt.hypothesis = source.plan.hypothesis;
  walk.attempt.plan_json = source.plan.json;
  walk.attempt.source = source.source;
  walk.attempt.source_hash = to_hex(sha256(source.source));
  if (const std::optional<AttemptId> twin = same_source_as(task, source.source)) {
    return reject(walk, reply_verdict("duplicate", "the same source as attempt " + std::to_string(twin->value)), begun);
  }

  const Evaluation evaluation = evaluate_attempt(walk, source);
  if (evaluation.state == AttemptState::kOpen) {
    const bool rig = evaluation.rig_fault.has_value();
    return {rig ? Why::kRigFailed : Why::kInterrupted, walk.attempt, rig ? evaluation.rig_fault->what : std::string()};
  }
  walk.log.evaluated(evaluation);
  describe(walk, source, evaluation);
  return close(walk, evaluation.state, begun);
}

}  // namespace kf
