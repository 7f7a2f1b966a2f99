// SPDX-License-Identifier: Apache-2.0
// Whatever came from a disk, a worker or a model may be damaged: every decoder gives a value or an error that says
// something, never a crash, and a value that it gives can be written and read again.
#include <gtest/gtest.h>

#include "format/attempt_json.h"
#include "format/lesson_json.h"
#include "format/outcome_json.h"
#include "tests/fakes/damage.h"

namespace kf {
namespace {

constexpr int kRounds = 2000;

Verdict some_verdict() {
  Verdict verdict;
  verdict.gate = Gate::kCheck;
  verdict.reason = "mismatch";
  verdict.message = "y: 3 of 7 elements are wrong";
  verdict.mismatch.emplace();
  verdict.mismatch->output = "y";
  verdict.mismatch->worst_index = {1, 2};
  verdict.mismatch->worst_ratio = std::numeric_limits<double>::infinity();
  return verdict;
}

Score some_score() {
  Score score;
  CaseScore& of = score.cases.emplace_back();
  of.case_id = "time/M=1,N=2,T=float32";
  of.candidate = of.baseline = {10.5, 10, 11, 24};
  of.notes = {"noisy"};
  score.speedup = 1.25;
  return score;
}

Attempt some_attempt() {
  Attempt attempt;
  attempt.id = {12};
  attempt.parent = AttemptId{11};
  attempt.direction = "repair: \"quotes\"\n";
  attempt.state = AttemptState::kMeasured;
  attempt.plan_json = R"({"plan":1})";
  attempt.kernels = {{"main", 40, 8, 4, 16, 1, 1024, 256}};
  attempt.tune = {{"ROWS", 4}};
  attempt.verdict = some_verdict();
  attempt.score = some_score();
  attempt.usage.output_tokens = 812;
  return attempt;
}

Measurement some_measurement() {
  Measurement measurement;
  CaseTiming& timing = measurement.cases.emplace_back();
  timing.case_id = "time/M=1";
  timing.arms = {"candidate", "baseline:naive"};
  timing.samples = {{0, 0, 0, 10.5, 1.7e9}, {1, 0, 1, 11.25, 1.7e9}};
  return measurement;
}

Lesson some_lesson() {
  Lesson lesson;
  lesson.claim = "wider is faster";
  lesson.technique = "vectorised loads";
  lesson.arch = "sm_90a";
  lesson.dtypes = {"bfloat16"};
  lesson.shapes = {"N <= 512"};
  lesson.supporting = {{{3}, {1}, 0.8, ""}, {{4}, {2}, 0.75, "other-run"}};
  lesson.id = lesson_id(lesson);
  return lesson;
}

// `read` must take the text as it is, and give a value or an error for anything made of it.
template <class Read>
void survives(const std::string& text, Read read) {
  ASSERT_TRUE(read(text));
  test::Damage damage(7);
  int refused = 0;
  for (int round = 0; round < kRounds; ++round) {
    const std::string damaged = damage(text);
    const auto value = read(damaged);
    if (!value) {
      ++refused;
      ASSERT_FALSE(to_string(value.error()).empty()) << damaged;
    }
  }
  EXPECT_GT(refused, kRounds / 4) << "damage that nobody notices";
  for (std::size_t length = 0; length < text.size(); ++length) {
    (void)read(text.substr(0, length));
  }
}

TEST(Damage, OfVerdictsIsAnError) {
  survives(verdict_json(some_verdict()), [](const std::string& text) { return verdict_from_json(text); });
}
TEST(Damage, OfScoresIsAnError) {
  survives(score_json(some_score()), [](const std::string& text) { return score_from_json(text); });
}
TEST(Damage, OfAttemptsIsAnError) {
  survives(attempt_json(some_attempt()), [](const std::string& text) { return attempt_from_json(text); });
}
TEST(Damage, OfUsageIsAnError) {
  Usage usage;
  usage.input_tokens = 12;
  usage.raw_json = R"({"prompt_tokens":12})";
  survives(usage_json(usage), [](const std::string& text) { return usage_from_json(text); });
}
TEST(Damage, OfKernelUseIsAnError) {
  survives(kernels_json(some_attempt().kernels), [](const std::string& text) { return kernels_from_json(text); });
}
TEST(Damage, OfMeasurementsIsAnError) {
  survives(measurement_json(some_measurement()), [](const std::string& text) { return measurement_from_json(text); });
}
TEST(Damage, OfDeviceFactsIsAnError) {
  DeviceFacts facts;
  facts.kind = "cuda";
  facts.name = "NVIDIA H200";
  survives(device_facts_json(facts), [](const std::string& text) { return device_facts_from_json(text); });
}
TEST(Damage, OfLessonsIsAnErrorWithItsLine) {
  const std::string text = lessons_jsonl({some_lesson(), some_lesson()});
  survives(text, [](const std::string& lines) { return lessons_from_jsonl(lines, "lessons.jsonl"); });
  const auto lines = lessons_from_jsonl(text + "{torn", "lessons.jsonl");
  ASSERT_FALSE(lines);
  EXPECT_NE(to_string(lines.error()).find("lessons.jsonl:3"), std::string::npos);
}
TEST(Damage, OfALibrariansClaimsIsAnError) {
  survives(
      R"({"lessons":[{"claim":"a","technique":"b","effect":"faster","predicted":"","dtypes":["float32"],"shapes":["N<4"],"evidence":[{"with":3,"without":1}]}]})",
      [](const std::string& text) { return lesson_claims_from_json(text); });
}
TEST(Damage, OfOutcomesAndTheirBlobsIsAnError) {
  test::Damage damage(9);
  CheckReport checked;
  checked.verdict = some_verdict();
  TimeReport timed;
  timed.measurement = some_measurement();
  for (const Outcome& outcome :
       {Outcome(checked), Outcome(timed), Outcome(Fault{Fault::Kind::kRig, "vanished", "gone"})}) {
    const Encoded good = encode_outcome(outcome);
    ASSERT_TRUE(decode_outcome(good.json, good.blob));
    const std::string blob(reinterpret_cast<const char*>(good.blob.data()), good.blob.size());
    for (int round = 0; round < kRounds; ++round) {
      const std::string json = round % 2 == 0 ? damage(good.json) : good.json;
      const std::string bytes = round % 2 == 0 ? blob : damage(blob);
      const auto decoded = decode_outcome(json, std::as_bytes(std::span(bytes)));
      ASSERT_TRUE(decoded || !decoded.error().what.empty());
    }
  }
}

}  // namespace
}  // namespace kf
