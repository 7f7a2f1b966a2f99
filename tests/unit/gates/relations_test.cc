// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gates/gates.h"
#include "tests/fakes/toy_operation.h"

namespace kf {
namespace {

using fakes::toy_case;
using fakes::toy_check;
using testing::HasSubstr;

Verdict verdict_of(const Job& job, fakes::HostDeviceOptions options = fakes::toy_device()) {
  const auto device = make_host_device(std::move(options));
  const auto report = run_check(*device, job, [](Phase) {});
  EXPECT_TRUE(report.has_value()) << report.error().what;
  return report ? report->verdict : Verdict{};
}
Job job_with(const std::string& entry, std::vector<std::string> relations) {
  Job job = toy_check(entry, {toy_case(7, 16, 20)});
  job.relations = std::move(relations);
  return job;
}

TEST(Relations, HoldForAKernelThatIsRight) {
  const Verdict verdict = verdict_of(job_with("good", {"permute:M", "concat:M", "permute:N"}));
  EXPECT_TRUE(verdict.passed) << verdict.message;
  EXPECT_EQ(verdict.gate, Gate::kPerturbation);  // the last one
  EXPECT_EQ(verdict.checks, 10);                 // one check, five of the repeat gate, one a relation, one disturbed
}

// y = a x + w is not proportional to x: the inputs are really scaled, and the outputs back.
TEST(Relations, RefuseAClaimThatDoesNotHold) {
  const Verdict verdict = verdict_of(job_with("good", {"scale:x"}));
  EXPECT_FALSE(verdict.passed);
  EXPECT_EQ(verdict.gate, Gate::kRelations);
  EXPECT_EQ(verdict.reason, "mismatch");
  EXPECT_THAT(verdict.message, HasSubstr("under the relation scale:x"));
}

TEST(Relations, RefuseAKernelThatIsRightInTheGatesBeforeOnly) {
  const Verdict verdict = verdict_of(job_with("counts_launches", {"permute:M"}));
  EXPECT_FALSE(verdict.passed);
  EXPECT_EQ(verdict.gate, Gate::kRelations);
}

// The kernel `of`, and 1000 more in the second of two rows of 16.
template <class T>
fakes::HostKernel with_a_higher_second_row(fakes::HostKernel of) {
  return [of = std::move(of)](const fakes::HostLaunch& launch) {
    const OrFault<void> done = of(launch);
    auto* y = launch.pointer<T>(2);
    for (int column = 0; column < 16; ++column) {
      y[16 + column] += 1000;
    }
    return done;
  };
}

// An operation that knows its rows, and a claim that their order does not matter: only a draw that leaves them where
// they were would let it pass.
TEST(Relations, NeverDrawTheOrderThatTheIndicesHad) {
  fakes::HostDeviceOptions options = fakes::toy_device();
  options.kernels["reference"] = with_a_higher_second_row<double>(options.kernels["reference"]);
  options.kernels["by_row"] = with_a_higher_second_row<float>(options.kernels["good"]);
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    Job job = toy_check("by_row", {toy_case(2, 16)}, {seed, seed + 1});
    job.relations = {"permute:M"};
    const Verdict verdict = verdict_of(job, options);
    EXPECT_EQ(verdict.gate, Gate::kRelations) << seed << " " << verdict.message;
    EXPECT_FALSE(verdict.passed) << seed;
  }
}

TEST(Relations, AreLeftOutWhereTheyCannotBeTested) {
  Job job = toy_check("good", {toy_case(1, 16)});
  job.relations = {"permute:M"};
  EXPECT_EQ(verdict_of(job).checks, 7);
}

// Half of each row is wrong and the other half unwritten: the message names both parts.
TEST(Relations, DamageNamesTheUnwrittenPartOfWrongRows) {
  fakes::HostDeviceOptions options = fakes::toy_device();
  options.kernels["half_wrong"] = [](const fakes::HostLaunch& launch) -> OrFault<void> {
    auto* y = launch.pointer<float>(2);
    const int m = launch.scalar<int>(4), n = launch.scalar<int>(5), ldx = launch.scalar<int>(6);
    for (int i = 0; i < m; ++i) {
      for (int j = 0; j < n / 2; ++j) {
        y[i * ldx + j] = 1e6f;
      }
    }
    return {};
  };
  const Verdict verdict = verdict_of(job_with("half_wrong", {}), options);
  EXPECT_EQ(verdict.reason, "mismatch");
  EXPECT_THAT(verdict.message, HasSubstr("columns 8 to 15 (of 16), all unwritten: the second half of each row"));
}

}  // namespace
}  // namespace kf
