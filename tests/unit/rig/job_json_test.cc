// SPDX-License-Identifier: Apache-2.0
#include "format/job_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "format/outcome_json.h"
#include "tests/fakes/toy_operation.h"

namespace kf {
namespace {

using testing::HasSubstr;

Job full_job() {
  Job job = fakes::toy_check("good", {fakes::toy_case(7, 16, 20), fakes::toy_case(0, 4)});
  job.kind = Job::Kind::kConfirm;
  job.nonfinite = Nonfinite::kIsolate;
  job.deterministic = job.keep_going = true;
  job.families = {{"x", {"normal", "large"}}};
  job.checks[0].seeds = {std::numeric_limits<std::uint64_t>::max(), 0};
  job.time_seeds = {1, 2};
  job.state = CacheState::kSteady;
  job.method = ClockMethod::kCupti;
  job.target_half_width = 0.0025;
  ResolvedPlan& plan = job.arms[0].plans[0];
  plan.workspaces = {{"flags", 256, WorkspaceInit::kZeroRestored}};
  TensorMap map;
  map.name = "x_map";
  map.dtype = Dtype::kBfloat16;
  map.dims = {64, 128};
  map.strides_bytes = {1ULL << 39};
  map.box = {64, 8};
  map.element_strides = {1, 1};
  map.swizzle = Swizzle::k128B;
  map.l2_promotion = L2Promotion::k256B;
  map.oob_nan = true;
  plan.maps = {map};
  plan.launches[0].flags.carveout = 50;
  plan.launches[0].flags.cooperative = true;
  plan.launches[0].grid = {4294967295U, 1, 1};
  plan.launches[0].after = {0, -1};
  job.arms[0].own_cases = job.cases;
  job.arms[0].builds[0].cubin.assign(1000, std::byte{0xA5});
  return job;
}

TEST(JobJson, KeepsEveryField) {
  const Job job = full_job();
  const Encoded first = encode_job(job);
  const auto decoded = decode_job(first.json, first.blob);
  ASSERT_TRUE(decoded) << to_string(decoded.error());
  const Encoded second = encode_job(*decoded);
  EXPECT_EQ(first.json, second.json);
  EXPECT_EQ(first.blob, second.blob);
  EXPECT_EQ(decoded->checks[0].seeds, job.checks[0].seeds);
  EXPECT_EQ(decoded->arms[0].plans[0].launches[0].flags.carveout, 50);
  EXPECT_EQ(decoded->arms[0].plans[1].launches.size(), 0U);
  EXPECT_EQ(decoded->arms[0].builds[0].cubin, job.arms[0].builds[0].cubin);
  EXPECT_EQ(decoded->arms[0].builds[0].id, job.arms[0].builds[0].id);
  EXPECT_EQ(decoded->bounds.at("y"), job.bounds.at("y"));
  EXPECT_EQ(decoded->reference.plans[0].tail_case->axes.at("M"), 1);
  EXPECT_FALSE(decoded->reference.plans[1].tail_case);
  EXPECT_EQ(decoded->deadline, job.deadline);
}

struct Fault3 {
  const char *from, *to, *where, *what;
};
class JobJsonRefuses : public testing::TestWithParam<Fault3> {};
TEST_P(JobJsonRefuses, WithThePathOfTheFault) {
  Encoded encoded = encode_job(full_job());
  const std::size_t at = encoded.json.find(GetParam().from);
  ASSERT_NE(at, std::string::npos) << encoded.json;
  encoded.json.replace(at, std::string_view(GetParam().from).size(), GetParam().to);
  const auto decoded = decode_job(encoded.json, encoded.blob);
  ASSERT_FALSE(decoded);
  EXPECT_THAT(decoded.error().where, HasSubstr(GetParam().where));
  EXPECT_THAT(decoded.error().what, HasSubstr(GetParam().what));
}
INSTANTIATE_TEST_SUITE_P(
    Faults, JobJsonRefuses,
    testing::Values(
        Fault3{"\"kind\":\"confirm\"", "\"kind\":\"dance\"", "$.kind", "describe, admit"},
        Fault3{"\"case_index\":0", "\"case_index\":99999999999", "$.checks[0].case_index", "expected an integer"},
        Fault3{"\"case_index\":0", "\"case_index\":\"0\"", "$.checks[0].case_index", "expected an integer"},
        Fault3{"\"keep_going\":true", "\"keep_going\":1", "$.keep_going", "true or false"},
        Fault3{"18446744073709551615", "-1", ".seeds[0]", "from 0 to"},
        Fault3{"18446744073709551615", "1e30", ".seeds[0]", "from 0 to"},
        Fault3{"\"grid\":[4294967295,1,1]", "\"grid\":[1,1]", ".grid", "array of 3"},
        Fault3{"\"cubin\":[0,1000]", "\"cubin\":[0,100000]", ".cubin[1]", "from 0 to"},
        Fault3{"\"cubin\":[0,1000]", "\"cubin\":[18446744073709551615,2]", ".cubin[0]", "from 0 to"},
        Fault3{"\"target_half_width\":0.0025", "\"target_half_width\":\"x\"", "$.target_half_width", "a number"},
        Fault3{"\"families\":{", "\"families\":[{", "$", "not JSON"},
        Fault3{"\"deadline_ms\":20000", "\"deadline_ms\":-5", "$.deadline_ms", "from 0 to"}),
    [](const auto& test) { return "Fault" + std::to_string(test.index); });

TEST(JobJson, RefusesDeepNesting) {
  const auto decoded = decode_job(std::string(100'000, '[') + std::string(100'000, ']'), {});
  ASSERT_FALSE(decoded);
  EXPECT_THAT(decoded.error().what, HasSubstr("nest"));
}

TEST(JobJson, TakesWhatAnEarlierVersionDidNotWrite) {
  const auto decoded = decode_job("{}", {});
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->min_quads, Job{}.min_quads);
}

TEST(JobJson, SurvivesMutations) {
  std::mt19937_64 random(5);
  const Encoded good = encode_job(full_job());
  for (int round = 0; round < 1000; ++round) {
    std::string json = good.json;
    for (std::uint64_t i = random() % 6 + 1; i > 0; --i) {
      constexpr std::string_view kInteresting = "0123456789-{}[],:\"\\eE.ntf";
      json[random() % json.size()] = kInteresting[random() % kInteresting.size()];
    }
    const auto decoded = decode_job(json, good.blob);
    EXPECT_TRUE(decoded.has_value() || !decoded.error().what.empty());
  }
}

TEST(OutcomeJson, KeepsVerdictsWithInfinities) {
  CheckReport report;
  report.verdict.passed = false;
  report.verdict.gate = Gate::kRepeat;
  report.verdict.reason = "mismatch";
  report.verdict.message = "a \"quoted\" \x01 message \xff";  // not UTF-8: replaced, never an exception
  report.verdict.mismatch.emplace();
  report.verdict.mismatch->worst_ratio = std::numeric_limits<double>::infinity();
  report.verdict.mismatch->worst_out = std::numeric_limits<double>::quiet_NaN();
  report.verdict.mismatch->worst_ref = -std::numeric_limits<double>::infinity();
  report.verdict.mismatch->first_index = {1, 2};
  report.verdict.mismatch->by_rms = true;
  report.all = {report.verdict};
  const Encoded encoded = encode_outcome(report);
  const auto decoded = decode_outcome(encoded.json, encoded.blob);
  ASSERT_TRUE(decoded) << to_string(decoded.error());
  const auto& back = std::get<CheckReport>(*decoded).verdict;
  EXPECT_EQ(back.gate, Gate::kRepeat);
  EXPECT_TRUE(std::isinf(back.mismatch->worst_ratio));
  EXPECT_TRUE(std::isnan(back.mismatch->worst_out));
  EXPECT_LT(back.mismatch->worst_ref, 0);
  EXPECT_TRUE(back.mismatch->by_rms);
  EXPECT_EQ(std::get<CheckReport>(*decoded).all.size(), 1U);
}

TEST(OutcomeJson, KeepsEveryAlternative) {
  TimeReport time;
  time.measurement.cases.emplace_back();
  time.measurement.cases[0].arms = {"candidate", "copy"};
  time.measurement.cases[0].samples = {{1, 2, 3, 10234.5678901234, 1.98e9}};
  AdmissionReport admission;
  admission.rows = {{"zeros", "refused", "passed", false}, {"input s", "matters", "not tried", true, false}};
  admission.admitted = false;
  Profile profile;
  profile.cases = {{"M=1", {{"dram__bytes.sum", 1e9}}, {"cold"}}};
  SanitizerReport sanitizer;
  sanitizer.tools = {{"racecheck", "2025.3.0", true, 1, 2, "hazard", 3100.5}};
  for (const Outcome& outcome :
       {Outcome(DeviceFacts{}), Outcome(CheckReport{}), Outcome(time), Outcome(admission), Outcome(profile),
        Outcome(sanitizer), Outcome(Fault{Fault::Kind::kCandidate, "timeout", "slow"})}) {
    const Encoded encoded = encode_outcome(outcome);
    const auto decoded = decode_outcome(encoded.json, encoded.blob);
    ASSERT_TRUE(decoded) << to_string(decoded.error());
    EXPECT_EQ(decoded->index(), outcome.index());
    EXPECT_EQ(encode_outcome(*decoded).json, encoded.json);
  }
}

TEST(OutcomeJson, KeepsTheRangesOfAnAdmission) {
  AdmissionReport admission;
  admission.rows = {{"input x", "matters", "moves the answer", true}};
  admission.ranges = {{"index", 69'999, {"N", "K/2"}}, {"sum", 5, {}}};
  const Encoded encoded = encode_outcome(admission);
  const auto decoded = decode_outcome(encoded.json, encoded.blob);
  ASSERT_TRUE(decoded) << to_string(decoded.error());
  const auto& again = std::get<AdmissionReport>(*decoded);
  ASSERT_EQ(again.ranges.size(), 2U);
  EXPECT_EQ(again.ranges[0].output, "index");
  EXPECT_EQ(again.ranges[0].largest, 69'999);
  EXPECT_EQ(again.ranges[0].below, admission.ranges[0].below);
  EXPECT_TRUE(again.ranges[1].below.empty());
  EXPECT_EQ(again.rows.size(), 1U);
}

TEST(OutcomeJson, RefusesWhatNamesNoOutcome) {
  EXPECT_FALSE(decode_outcome("{}", {}));
  EXPECT_FALSE(decode_outcome("[]", {}));
  EXPECT_FALSE(decode_outcome(R"({"check":5})", {}));
  EXPECT_FALSE(decode_outcome("", {}));
}

TEST(OutcomeJson, HasCodecsForItsParts) {
  Verdict verdict;
  verdict.reason = "x";
  EXPECT_EQ(verdict_from_json(verdict_json(verdict))->reason, "x");
  Measurement measurement;
  measurement.device = "H200";
  EXPECT_EQ(measurement_from_json(measurement_json(measurement))->device, "H200");
  DeviceFacts facts;
  facts.l2_bytes = 62914560;
  EXPECT_EQ(device_facts_from_json(device_facts_json(facts))->l2_bytes, 62914560);
  const Case of = fakes::toy_case(3, 4);
  EXPECT_EQ(case_from_json(case_json(of))->id, of.id);
  const ResolvedPlan plan = fakes::toy_arm("a", "good", {of}).plans[0];
  EXPECT_EQ(resolved_plan_from_json(plan_json(plan))->build, plan.build);
}

}  // namespace
}  // namespace kf
