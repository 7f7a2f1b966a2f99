// SPDX-License-Identifier: Apache-2.0
#include "learn.h"

#include <algorithm>

#include "attempt.h"
#include "records.h"

namespace kf {
namespace {

void tell(const Factory& factory, Event::Kind kind, std::string text) {
  if (factory.observe) {
    factory.observe({kind, {}, std::move(text), {}});
  }
}

// The recorded answer, else the model's. nullopt: none, and `result` says why where that ends the run.
std::optional<std::string> librarian_answer(const Factory& factory, const RunSettings& settings, RunResult& result,
                                            const LessonRound& round, AttemptId through, const std::stop_token& stop) {
  if (round.reply) {
    return round.reply;
  }
  const auto ordinal = static_cast<std::uint64_t>(round.rounds) + 1;
  const ModelCall call = compose_librarian_call(task_view(factory, result.attempts), ordinal, settings.search);
  const std::expected<Reply, ModelError> reply = model_for(factory, Role::kLibrarian).ask(call, stop);
  if (!reply) {
    if (reply.error().kind == ModelError::Kind::kWaiting) {
      result.reason = StopReason::kWaiting;
      result.detail = "waiting for the librarian's reply";
    } else if (stop.stop_requested()) {
      result.reason = StopReason::kInterrupted;
      result.detail = "interrupted before the lessons";
    } else {
      tell(factory, Event::Kind::kNote, "no lessons: " + reply.error().message);
    }
    return std::nullopt;
  }
  factory.spending->add(reply->usage);
  write_lesson_reply(*factory.ledger, *reply, ordinal, through);
  return reply->text;
}

}  // namespace

TaskView task_view(const Factory& factory, std::span<const Attempt> visible) {
  TaskView task;
  task.spec = factory.spec;
  task.facts = factory.facts;
  task.visible = visible;
  task.lessons = factory.lessons;
  if (factory.rig == nullptr) {
    task.secret_free_note = "There is no device: candidates are compiled and audited, not executed.";
  } else if (factory.facts.kind == "emulator") {
    task.secret_free_note = "Candidates run on an emulator: figures are estimates, not times.";
  }
  return task;
}

void learn(const Factory& factory, const RunSettings& settings, RunResult& result, std::stop_token stop) {
  const bool evidence =
      std::ranges::any_of(result.attempts, [](const Attempt& attempt) { return !attempt.source.empty(); });
  if (!evidence) {
    tell(factory, Event::Kind::kNote, "no lessons: no attempt brought a candidate");
    return;
  }
  const AttemptId through = result.attempts.back().id;
  const LessonRound round = read_lesson_round(*factory.ledger, through);
  if (round.complete) {
    result.lessons = round.lessons;
    return;
  }
  const std::optional<std::string> answer = librarian_answer(factory, settings, result, round, through, stop);
  if (!answer) {
    return;
  }
  std::vector<std::string> voided;
  OrErrors<std::vector<Lesson>> lessons =
      read_lessons(*answer, task_view(factory, result.attempts), result.attempts, factory.origin, voided);
  for (const std::string& line : voided) {
    tell(factory, Event::Kind::kNote, line);
  }
  if (!lessons) {
    tell(factory, Event::Kind::kNote, "the librarian's answer could not be read: " + to_string(lessons.error()));
    lessons = std::vector<Lesson>{};
  }
  write_lessons(*factory.ledger, *lessons, through);
  result.lessons = merge_lessons(round.lessons, *lessons);
  tell(factory, Event::Kind::kLessons, std::to_string(lessons->size()) + " lessons");
}

}  // namespace kf
