// SPDX-License-Identifier: Apache-2.0
// What exact probes refuse, and what a rule of the spec excuses.
#include <algorithm>

#include "check_fixture.h"

namespace kf {
namespace {

using fakes::HostDeviceOptions;
using fakes::toy_case;
using fakes::toy_check;

TEST(ExactProbe, RefusesWhatTheBoundAllowsWhereIntegersMakeEveryStepExact) {
  fakes::HostDeviceOptions options = fakes::toy_device();
  options.kernels["one_ulp"] = [right = options.kernels.at("good")](const fakes::HostLaunch& launch) {
    OrFault<void> done = right(launch);
    for (int i = 0; i < launch.scalar<int>(4) * launch.scalar<int>(5); ++i) {
      float& value = launch.pointer<float>(2)[i];
      value = std::nextafter(value, 1e30F);
    }
    return done;
  };
  Job job = fakes::toy_check("one_ulp", {fakes::toy_case(5, 16)});
  job.bounds["y"] = {.ulp = 1, .acc = 2, .condition = "y__cond"};
  job.checks[0].family = "integers";
  const auto verdict_of = [&](const Job& checked) {
    const auto device = make_host_device(options);
    const auto report = run_check(*device, checked, [](Phase) {});
    return report ? report->verdict : Verdict{};
  };
  EXPECT_TRUE(verdict_of(job).passed);
  job.bounds["y"].exact = {"integers"};
  const Verdict refused = verdict_of(job);
  EXPECT_FALSE(refused.passed);
  EXPECT_EQ(refused.reason, "inexact");
  EXPECT_NE(refused.message.find("rounded once"), std::string::npos);
  job.arms = {fakes::toy_arm("candidate", "good", job.cases)};
  EXPECT_TRUE(verdict_of(job).passed);
}

TEST(ExactProbe, IsAMismatchWhereTheBoundIsBrokenToo) {
  Job job = fakes::toy_check("low_precision", {fakes::toy_case(5, 16)});
  job.bounds["y"] = {.ulp = 1, .acc = 2, .condition = "y__cond"};
  job.bounds["y"].exact = {"integers"};
  job.checks[0].family = "integers";
  const auto device = make_host_device(fakes::toy_device());
  const auto report = run_check(*device, job, [](Phase) {});
  ASSERT_TRUE(report);
  EXPECT_EQ(report->verdict.reason, "mismatch");
}

// ---- what a rule of the spec excuses -----------------------------------------------------------------

// Rounds down; on contents of integers every element is on an edge. `off` elements come out `wrong` steps lower.
Job on_the_edge(fakes::HostDeviceOptions& options, int off, float nudge = 0, float wrong = 1) {
  options.kernels["reference"] = [nudge](const fakes::HostLaunch& launch) -> OrFault<void> {
    const int m = launch.scalar<int>(5), n = launch.scalar<int>(6), ldx = launch.scalar<int>(7);
    for (int i = 0; i < m * n; ++i) {
      launch.pointer<double>(2)[i] = std::floor(launch.pointer<const float>(0)[i / n * ldx + i % n] + nudge) + 0.5;
      launch.pointer<double>(3)[i] = 1;
    }
    return {};
  };
  options.kernels["steps"] = [off, wrong](const fakes::HostLaunch& launch) -> OrFault<void> {
    const int m = launch.scalar<int>(4), n = launch.scalar<int>(5), ldx = launch.scalar<int>(6);
    for (int i = 0, left = off; i < m * n; ++i) {
      const int at = i / n * ldx + i % n;
      const float x = launch.pointer<const float>(0)[at];
      const bool low = x != 0 && left-- > 0;  // zero has no ulp to be moved by
      launch.pointer<float>(2)[at] = std::floor(x) + 0.5F - (low ? wrong : 0.0F);
    }
    return {};
  };
  Job job = fakes::toy_check("steps", {fakes::toy_case(10, 20)});
  job.checks[0].family = "integers";
  job.bounds["y"].ill_conditioned = 0.01;  // two of the 200
  ReferenceVariant wide;
  wide.kind = ReferenceVariant::Kind::kWideInputs;
  wide.cases = job.cases;
  wide.arm = job.reference;
  job.variants.push_back(std::move(wide));
  return job;
}
Verdict checked(const Job& job, const fakes::HostDeviceOptions& options) {
  const auto device = make_host_device(options);
  const auto report = run_check(*device, job, [](Phase) {});
  EXPECT_TRUE(report);
  return report ? report->verdict : Verdict{};
}

TEST(IllConditioned, ElementsAreLeftOutUpToTheShareThatTheSpecStates) {
  fakes::HostDeviceOptions options = fakes::toy_device();
  EXPECT_TRUE(checked(on_the_edge(options, 2), options).passed);
  EXPECT_TRUE(checked(on_the_edge(options, 5), options).passed);  // chance: a quarter of a row, eight of a small output
  EXPECT_FALSE(checked(on_the_edge(options, 9), options).passed);
  const auto spread_over_rows = [&](int off) {
    fakes::HostDeviceOptions spread = options;
    Job job = on_the_edge(spread, 0);
    spread.kernels["steps"] = [off, steps = spread.kernels.at("steps")](const fakes::HostLaunch& launch) {
      OrFault<void> done = steps(launch);
      for (int i = 0, left = off; i < 200 && left > 0; i += i % 20 == 3 ? 17 : 1) {  // four a row at most
        float& value = launch.pointer<float>(2)[i / 20 * launch.scalar<int>(6) + i % 20];
        value -= value == 0.5F ? 0.0F : 1.0F;
        left -= value == 0.5F ? 0 : 1;
      }
      return done;
    };
    return checked(job, spread).passed;
  };
  EXPECT_TRUE(spread_over_rows(5));
  EXPECT_FALSE(spread_over_rows(20));
}

TEST(IllConditioned, ElementsAreJudgedWhereTheSpecStatesNothing) {
  fakes::HostDeviceOptions options = fakes::toy_device();
  Job job = on_the_edge(options, 1);
  job.bounds["y"].ill_conditioned = 0;
  EXPECT_FALSE(checked(job, options).passed);
}

// As x / s at a rounding edge: element and neighbour must move the same way, which one draw gives half of the time.
// Of every `period` elements one comes out low, `off` in all.
Job needs_two_inputs(fakes::HostDeviceOptions& options, int off, int period) {
  Job job = on_the_edge(options, 0);
  const auto neighbour = [](int i, int n) { return i % n == 0 ? i + 1 : i - 1; };
  options.kernels["reference"] = [neighbour](const fakes::HostLaunch& launch) -> OrFault<void> {
    const int m = launch.scalar<int>(5), n = launch.scalar<int>(6), ldx = launch.scalar<int>(7);
    const auto moved_down = [&](int i) {
      const float x = launch.pointer<const float>(0)[i / n * ldx + i % n];
      return x < std::rint(x);
    };
    for (int i = 0; i < m * n; ++i) {
      const bool both = moved_down(i) && moved_down(neighbour(i, n));
      launch.pointer<double>(2)[i] = std::rint(launch.pointer<const float>(0)[i / n * ldx + i % n]) - (both ? 1 : 0);
      launch.pointer<double>(3)[i] = 1;
    }
    return {};
  };
  options.kernels["steps"] = [neighbour, off, period](const fakes::HostLaunch& launch) -> OrFault<void> {
    const int m = launch.scalar<int>(4), n = launch.scalar<int>(5), ldx = launch.scalar<int>(6);
    for (int i = 0, left = off; i < m * n; ++i) {
      const auto x = [&](int at) { return launch.pointer<const float>(0)[at / n * ldx + at % n]; };
      const bool low = i % period == period - 1 && x(i) != 0 && x(neighbour(i, n)) != 0 && left-- > 0;
      launch.pointer<float>(2)[i / n * ldx + i % n] = x(i) - (low ? 1.0F : 0.0F);
    }
    return {};
  };
  return job;
}

TEST(IllConditioned, ElementsThatNeedTwoInputsToMoveTogetherAreFound) {
  fakes::HostDeviceOptions options = fakes::toy_device();
  Job job = needs_two_inputs(options, 2, 1);
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    job.checks[0].seeds[0] = seed;
    const Verdict verdict = checked(job, options);
    EXPECT_TRUE(verdict.passed) << seed << ": " << verdict.message;
  }
}

// One in 4096 of them needs more than twelve draws.
TEST(IllConditioned, ThousandsOfElementsThatNeedTwoInputsAreAllFound) {
  fakes::HostDeviceOptions options = fakes::toy_device();
  Job job = needs_two_inputs(options, 4000, 5);
  job.cases = {fakes::toy_case(400, 50)};
  Job large = fakes::toy_check("steps", job.cases);
  large.checks[0].family = "integers";
  large.bounds["y"].ill_conditioned = 0.2;
  large.variants = std::move(job.variants);
  large.variants[0].cases = large.cases;
  large.variants[0].arm = large.reference;
  const Verdict verdict = checked(large, options);
  EXPECT_TRUE(verdict.passed) << verdict.message;
}

// Two rows of ten at a time: what the host computes once more of a case that is too large to be moved whole.
Job in_windows(Job job) {
  const Case window = fakes::toy_case(2, 20);
  job.variants[0].cases = {window};
  job.variants[0].arm = fakes::toy_reference({window});
  return job;
}

TEST(IllConditioned, ElementsOfALargeCaseAreLeftOutByItsWindows) {
  fakes::HostDeviceOptions options = fakes::toy_device();
  EXPECT_TRUE(checked(in_windows(on_the_edge(options, 2)), options).passed);
  EXPECT_FALSE(checked(in_windows(on_the_edge(options, 9)), options).passed);
  EXPECT_FALSE(checked(in_windows(on_the_edge(options, 1, 0.25F)), options).passed);
  EXPECT_FALSE(checked(in_windows(on_the_edge(options, 2, 0, 2)), options).passed);
}

TEST(IllConditioned, TheWorstElementOfALargeCaseIsAlwaysLookedAt) {
  fakes::HostDeviceOptions options = fakes::toy_device();
  Job job = in_windows(on_the_edge(options, 1));
  for (int row = 1; row < 10; ++row) {
    auto spoilt = options;
    spoilt.kernels["steps"] = [row, steps = options.kernels.at("steps")](const fakes::HostLaunch& launch) {
      OrFault<void> done = steps(launch);
      launch.pointer<float>(2)[row * launch.scalar<int>(6) + 7] += 3;
      return done;
    };
    EXPECT_FALSE(checked(job, spoilt).passed) << row;
  }
}

// 1000 rows in windows of two, with an honest jump in each of the rows `jumps`; in the others `spoil` changes a row.
struct LargeCase {
  fakes::HostDeviceOptions options = fakes::toy_device();
  Job job;

  LargeCase(const std::vector<int>& jumps, const std::function<void(float* row, int number)>& spoil) {
    on_the_edge(options, 0);
    job = fakes::toy_check("steps", {fakes::toy_case(1000, 20)});
    job.checks[0].family = "integers";
    job.bounds["y"].ill_conditioned = 0.01;  // 200 of the 20000
    ReferenceVariant wide;
    wide.kind = ReferenceVariant::Kind::kWideInputs;
    job.variants.push_back(std::move(wide));
    job = in_windows(std::move(job));
    options.kernels["steps"] = [steps = options.kernels.at("steps"), jumps, spoil](const fakes::HostLaunch& launch) {
      OrFault<void> done = steps(launch);
      const int ldx = launch.scalar<int>(6);
      for (const int row : jumps) {
        float* y = launch.pointer<float>(2) + row * ldx;
        const auto edge = std::find_if(y, y + 20, [](float value) { return value != 0.5F; });
        if (edge != y + 20) {
          *edge -= 1;
        }
      }
      for (int row = 0; row < 1000; ++row) {
        spoil(launch.pointer<float>(2) + row * ldx, row);
      }
      return done;
    };
  }
  int passed_of_ten() {
    int passed = 0;
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      job.checks[0].seeds[0] = seed;
      passed += checked(job, options).passed ? 1 : 0;
    }
    return passed;
  }
};

TEST(IllConditioned, JumpsAnywhereInALargeCaseAreLeftOut) {
  std::vector<int> everywhere;
  for (int row = 0; row < 1000; row += 7) {
    everywhere.push_back(row);
  }
  EXPECT_EQ(LargeCase(everywhere, [](float*, int) {}).passed_of_ten(), 10);
}

// The worst, the first and the last wrong element may all be honest.
TEST(IllConditioned, WrongRowsAmongJumpsOfALargeCaseAreFound) {
  const auto six_rows = [](float* row, int number) {
    for (int i = 0; i < 20; ++i) {
      row[i] += number >= 500 && number < 506 && std::abs(row[i]) > 3 ? 1.0F : 0.0F;
    }
  };
  EXPECT_EQ(LargeCase({0, 999}, six_rows).passed_of_ten(), 0);
}

TEST(IllConditioned, SingleWrongElementsAmongJumpsOfALargeCaseAreFound) {
  const auto one_a_row = [](float* row, int number) {
    row[3] += number % 100 == 50 ? 0.75F : 0.0F;  // less than a jump, and upwards, where nothing jumps
  };
  EXPECT_EQ(LargeCase({0, 999, 333, 666}, one_a_row).passed_of_ten(), 0);
}

TEST(IllConditioned, ARowFullOfJumpsIsRefusedHoweverFewTheyAreOfTheWhole) {
  const auto lower = [](int most) {
    return [most](float* row, int number) {
      for (int i = 0, left = most; number == 500 && i < 20; ++i) {
        row[i] -= row[i] != 0.5F && left-- > 0 ? 1.0F : 0.0F;
      }
    };
  };
  EXPECT_EQ(LargeCase({}, lower(3)).passed_of_ten(), 10);
  EXPECT_EQ(LargeCase({}, lower(12)).passed_of_ten(), 0);
  fakes::HostDeviceOptions options = fakes::toy_device();
  Job whole = on_the_edge(options, 12);  // its first row, nothing else
  whole.bounds["y"].ill_conditioned = 0.1;
  EXPECT_FALSE(checked(whole, options).passed);
  options = fakes::toy_device();
  whole = on_the_edge(options, 5);
  whole.bounds["y"].ill_conditioned = 0.1;
  EXPECT_TRUE(checked(whole, options).passed);
}

TEST(IllConditioned, ALargeCaseWithoutSlicesIsJudgedWhole) {
  fakes::HostDeviceOptions options = fakes::toy_device();
  Job job = on_the_edge(options, 1);
  job.variants[0].cases = {Case{}};
  job.variants[0].arm.plans = {ReferencePlan{}};
  EXPECT_FALSE(checked(job, options).passed);
}

// What is left out is no mismatch beside an element that is merely not exact.
TEST(IllConditioned, ElementsDoNotHideThatTheOthersAreInexact) {
  fakes::HostDeviceOptions options = fakes::toy_device();
  Job job = on_the_edge(options, 1);
  job.bounds["y"].exact = {"integers"};
  options.kernels["steps"] = [steps = options.kernels.at("steps")](const fakes::HostLaunch& launch) {
    OrFault<void> done = steps(launch);
    float& last = launch.pointer<float>(2)[9 * launch.scalar<int>(6) + 19];
    last = std::nextafter(last, 1e30F);
    return done;
  };
  for (const Job& checked_job : {job, in_windows(job)}) {
    const Verdict verdict = checked(checked_job, options);
    EXPECT_FALSE(verdict.passed);
    EXPECT_EQ(verdict.reason, "inexact") << verdict.message;
    EXPECT_EQ(verdict.mismatch ? verdict.mismatch->wrong : 0, 1);
  }
}

TEST(IllConditioned, IsNoExcuseAwayFromAJump) {
  fakes::HostDeviceOptions options = fakes::toy_device();
  EXPECT_FALSE(checked(on_the_edge(options, 1, 0.25F), options).passed);
}

TEST(IllConditioned, ExcusesNothingButWhatLiesWithinTheJump) {
  fakes::HostDeviceOptions options = fakes::toy_device();
  EXPECT_TRUE(checked(on_the_edge(options, 2, 0, 0.5F), options).passed);
  EXPECT_FALSE(checked(on_the_edge(options, 2, 0, 2), options).passed);
  EXPECT_FALSE(checked(on_the_edge(options, 2, 0, -1), options).passed);
  EXPECT_FALSE(checked(on_the_edge(options, 2, 0, 1e6F), options).passed);
}

TEST(IllConditioned, ZerosWhereTheReferenceJumpsAreRefused) {
  fakes::HostDeviceOptions options = fakes::toy_device();
  const Job job = on_the_edge(options, 0);
  options.kernels["steps"] = [steps = options.kernels.at("steps")](const fakes::HostLaunch& launch) {
    OrFault<void> done = steps(launch);
    float* y = launch.pointer<float>(2);
    for (int i = 0, left = 2; i < 200 && left > 0; ++i) {
      if (std::abs(y[i]) > 2) {  // the jump there does not reach zero
        y[i] = 0;
        --left;
      }
    }
    return done;
  };
  const Verdict verdict = checked(job, options);
  EXPECT_FALSE(verdict.passed);
  EXPECT_EQ(verdict.reason, "mismatch");
}

// Indices into w, whose elements are all equal: row i of y holds index_of(i, j) at j, the reference j.
Verdict with_tied_indices(const std::string& ranks, const std::function<int(int, int, int)>& index_of) {
  fakes::HostDeviceOptions options = fakes::toy_device();
  options.kernels["reference"] = [](const fakes::HostLaunch& launch) -> OrFault<void> {
    const int m = launch.scalar<int>(5), n = launch.scalar<int>(6);
    for (int i = 0; i < m * n; ++i) {
      launch.pointer<double>(2)[i] = i % n;
      launch.pointer<double>(3)[i] = 1;
    }
    return {};
  };
  options.kernels["indices"] = [index_of](const fakes::HostLaunch& launch) -> OrFault<void> {
    const int m = launch.scalar<int>(4), n = launch.scalar<int>(5), ldx = launch.scalar<int>(6);
    for (int i = 0; i < m * n; ++i) {
      launch.pointer<float>(2)[i / n * ldx + i % n] = static_cast<float>(index_of(i / n, i % n, n));
    }
    return {};
  };
  Case of = fakes::toy_case(4, 8);
  of.tensors[2].dims[1] = ranks;
  Job job = fakes::toy_check("indices", {of});
  job.checks[0].family = "constant";
  job.bounds["y"].ties_of = "w";
  job.bounds["y"].ties_along = "N";
  return checked(job, options);
}

TEST(Ties, RowsAreThoseOfTheOutputAlsoWhereTheIndexedTensorLacksThem) {
  for (const char* ranks : {"N", "K"}) {  // an order of w, and ranks
    const auto last_first = [](int, int j, int n) { return n - 1 - j; };
    const Verdict honest = with_tied_indices(ranks, last_first);
    EXPECT_TRUE(honest.passed) << ranks << ": " << honest.message;
    const auto turned = [](int i, int j, int n) { return (i + j) % n; };
    EXPECT_TRUE(with_tied_indices(ranks, turned).passed) << ranks;
    const auto repeated = [](int, int, int) { return 3; };
    EXPECT_FALSE(with_tied_indices(ranks, repeated).passed) << ranks;
    const auto one_repeated = [](int i, int j, int n) { return i == 2 && j == 1 ? n - 1 : n - 1 - j; };
    EXPECT_FALSE(with_tied_indices(ranks, one_repeated).passed) << ranks;
  }
}

}  // namespace
}  // namespace kf
