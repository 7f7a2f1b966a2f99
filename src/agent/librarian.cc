// SPDX-License-Identifier: Apache-2.0
// From what a Librarian claims to lessons whose effects are computed from the attempts.
#include <kfactory/agent.h>

#include <algorithm>
#include <cmath>

#include "agent/case_text.h"
#include "agent/fenced_block.h"
#include "agent/prompts.h"
#include "format/lesson_json.h"

namespace kf {
namespace {

// Within it a difference is none: then a claim of "faster" or "slower" is contradicted.
constexpr double kMargin = 0.005;

std::unexpected<Error> refuse(std::string what) {
  return std::unexpected(Error{"", std::move(what), ""});
}

OrError<const Score*> score_of(std::span<const Attempt> attempts, std::int64_t id) {
  const auto attempt = std::ranges::find(attempts, AttemptId{id}, &Attempt::id);
  if (attempt == attempts.end()) {
    return refuse("attempt " + std::to_string(id) + " does not exist");
  }
  if (!attempt->score || attempt->state != AttemptState::kMeasured) {
    return refuse("attempt " + std::to_string(id) + " was not measured (" + std::string(to_string(attempt->state)) +
                  ")");
  }
  return &*attempt->score;
}

bool in_scope(const Spec& spec, const CaseScore& score, const LessonClaim& claim) {
  const Case* of = shown_case(spec, score.case_id);
  return of != nullptr && within_scope(spec, *of, claim.dtypes, claim.shapes).value_or(false);
}

// time with / time without: geometric mean over the cases that both have, within the claim's scope.
OrError<double> ratio_of(const Spec& spec, const LessonClaim& claim, const Score& with, const Score& without) {
  if ((with.method == ClockMethod::kEstimate) != (without.method == ClockMethod::kEstimate) ||
      with.state != without.state) {
    return refuse("one is measured with another method or cache state than the other");
  }
  double sum = 0;
  int count = 0;
  for (const CaseScore& of : with.cases) {
    const auto other = std::ranges::find(without.cases, of.case_id, &CaseScore::case_id);
    if (other != without.cases.end() && counts_in(with, of) && counts_in(without, *other) && of.candidate.median > 0 &&
        other->candidate.median > 0 && in_scope(spec, of, claim)) {
      sum += std::log(of.candidate.median / other->candidate.median);
      ++count;
    }
  }
  if (count == 0) {
    return refuse("they have no timed case in common within the claim's scope");
  }
  return std::exp(sum / count);
}

OrError<void> check_scope(const Spec& spec, const LessonClaim& claim) {
  for (const std::string& dtype : claim.dtypes) {
    if (!dtype_from_string(dtype)) {
      return refuse("\"" + safe_line(dtype, 40) + "\" is no dtype");
    }
  }
  for (const char* set : {"time", "check", "emulate"}) {
    for (const Case& of : shown_cases(spec, set)) {
      if (const OrError<bool> within = within_scope(spec, of, claim.dtypes, claim.shapes); !within) {
        return refuse("its shape cannot be evaluated: " + safe_line(to_string(within.error()), 200));
      }
    }
  }
  return {};
}

OrError<Lesson> lesson_of(const LessonClaim& claim, const TaskView& task, std::span<const Attempt> attempts,
                          std::string_view origin) {
  constexpr std::size_t kClaimBytes = 500;
  const Spec& spec = *task.spec;
  if (claim.claim.find_first_not_of(" \t\n") == std::string::npos) {
    return refuse("it claims nothing");
  }
  if (const OrError<void> scope = check_scope(spec, claim); !scope) {
    return std::unexpected(scope.error());
  }
  Lesson lesson;
  lesson.claim = safe_line(claim.claim, kClaimBytes);
  lesson.technique = safe_line(claim.technique, 120);
  lesson.predicted = safe_line(claim.predicted, 300);
  lesson.arch = task.facts.arch.empty() ? spec.arch : task.facts.arch;
  lesson.op_type = spec.op_type;
  lesson.dtypes = claim.dtypes;
  lesson.shapes = claim.shapes;
  lesson.origin = origin;
  for (const auto& [with, without] : claim.evidence) {
    const std::string pair = "attempts " + std::to_string(with) + " and " + std::to_string(without) + ": ";
    const OrError<const Score*> a = score_of(attempts, with);
    const OrError<const Score*> b = score_of(attempts, without);
    if (!a || !b) {
      return std::unexpected(!a ? a.error() : b.error());
    }
    if (with == without) {
      return refuse(pair + "an attempt is no evidence against itself");
    }
    const OrError<double> ratio = ratio_of(spec, claim, **a, **b);
    if (!ratio) {
      return refuse(pair + ratio.error().what);
    }
    const bool as_claimed = claim.faster ? *ratio <= 1 - kMargin : *ratio >= 1 + kMargin;
    const Effect effect{{with}, {without}, *ratio, "", (*a)->method == ClockMethod::kEstimate};
    std::vector<Effect>& effects = as_claimed ? lesson.supporting : lesson.contradicting;
    const auto same = [&](const Effect& e) { return e.with == effect.with && e.without == effect.without; };
    if (std::ranges::none_of(effects, same)) {
      effects.push_back(effect);
    }
  }
  lesson.id = lesson_id(lesson);
  return lesson;
}

// The answer's JSON: its one fenced block that looks like it, or the whole answer when there is no fence.
OrErrors<std::string> json_of(std::string_view answer) {
  std::vector<FencedBlock> blocks = fenced_blocks(answer);
  std::erase_if(blocks, [](const FencedBlock& block) { return block.text.find("\"lessons\"") == std::string::npos; });
  if (blocks.size() == 1) {
    return std::move(blocks.front().text);
  }
  if (blocks.size() > 1) {
    return std::unexpected(
        Errors{{"answer:" + std::to_string(blocks[1].line), "a second block with lessons", "answer with one"}});
  }
  if (answer.find_first_not_of(" \t\r\n") != std::string_view::npos &&
      answer[answer.find_first_not_of(" \t\r\n")] == '{') {
    return std::string(answer);
  }
  return std::unexpected(Errors{{"answer", "there is no block with \"lessons\"", "answer with one ```json block"}});
}

}  // namespace

OrErrors<std::vector<Lesson>> read_lessons(std::string_view answer, const TaskView& task,
                                           std::span<const Attempt> attempts, std::string_view origin,
                                           std::vector<std::string>& voided) {
  constexpr std::size_t kMostLessons = 16;
  const OrErrors<std::string> json = json_of(answer);
  if (!json) {
    return std::unexpected(json.error());
  }
  OrErrors<std::vector<LessonClaim>> claims = lesson_claims_from_json(*json);
  if (!claims) {
    return std::unexpected(std::move(claims.error()));
  }
  std::vector<Lesson> lessons;
  for (const LessonClaim& claim : *claims) {
    OrError<Lesson> lesson = lessons.size() == kMostLessons
                                 ? refuse("there are " + std::to_string(kMostLessons) + " already")
                                 : lesson_of(claim, task, attempts, origin);
    if (lesson) {
      lessons = merge_lessons(std::move(lessons), std::span(&*lesson, 1));
    } else {
      voided.push_back("lesson void: \"" + safe_line(claim.claim, 120) + "\": " + lesson.error().what);
    }
  }
  return lessons;
}

}  // namespace kf
