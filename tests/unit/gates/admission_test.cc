// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "gates/gates.h"
#include "tests/fakes/toy_operation.h"

namespace kf {
namespace {

using fakes::toy_case;
using testing::AllOf;
using testing::HasSubstr;

Job admission(const std::string& baseline = "naive") {
  Job job = fakes::toy_check(baseline, {toy_case(5, 16, 20), toy_case(3, 8)});
  job.kind = Job::Kind::kAdmit;
  job.arms[0].name = "naive";
  return job;
}
AdmissionReport admit(const Job& job, fakes::HostDeviceOptions options = fakes::toy_device()) {
  const auto device = make_host_device(std::move(options));
  auto report = run_admission(*device, job, [](Phase) {});
  EXPECT_TRUE(report.has_value()) << report.error().what;
  return report ? *report : AdmissionReport{};
}
const AdmissionRow* row(const AdmissionReport& report, std::string_view part) {
  const auto found =
      std::ranges::find_if(report.rows, [&](const AdmissionRow& r) { return r.name.find(part) != std::string::npos; });
  return found == report.rows.end() ? nullptr : &*found;
}

TEST(Admission, AdmitsASpecThatCanTellRightFromWrong) {
  const AdmissionReport report = admit(admission());
  EXPECT_TRUE(report.admitted);
  for (const AdmissionRow& r : report.rows) {
    EXPECT_TRUE(r.ok) << r.name << ": " << r.found;
  }
  for (const char* part : {"baseline naive", "nothing written", "zeros", "ones", "a constant", "the reference's mean",
                           "a copy of x", "another seed's answer", "input x", "input w", "input a"}) {
    EXPECT_NE(row(report, part), nullptr) << part;
  }
  EXPECT_EQ(row(report, "a copy of w"), nullptr);  // has another shape
}

TEST(Admission, RefusesASpecWhoseBaselineFails) {
  const AdmissionReport report = admit(admission("half_rows"));
  EXPECT_FALSE(report.admitted);
  ASSERT_NE(row(report, "baseline"), nullptr);
  EXPECT_THAT(row(report, "baseline")->found, HasSubstr("unwritten"));
  EXPECT_THAT(row(report, "baseline")->found, HasSubstr("Change: repair the baseline"));
}

TEST(Admission, SaysWhatToChangeWhereTheBaselineRoundsToOtherIntegersThanTheReference) {
  fakes::HostDeviceOptions options = fakes::toy_device();
  options.kernels["reference"] = [](const fakes::HostLaunch& launch) -> OrFault<void> {
    std::fill_n(launch.pointer<double>(2), launch.scalar<int>(5) * launch.scalar<int>(6), 3.0);
    std::fill_n(launch.pointer<double>(3), launch.scalar<int>(5) * launch.scalar<int>(6), 1.0);
    return {};
  };
  options.kernels["rounds_down"] = [](const fakes::HostLaunch& launch) -> OrFault<void> {
    for (int i = 0, n = launch.scalar<int>(5); i < launch.scalar<int>(4) * n; ++i) {
      launch.pointer<std::int32_t>(2)[i / n * launch.scalar<int>(6) + i % n] = i == 5 ? 2 : 3;
    }
    return {};
  };
  Job job = fakes::toy_check("rounds_down", {toy_case(5, 16, 20)});
  job.kind = Job::Kind::kAdmit;
  job.arms[0].name = "naive";
  job.cases[0].tensors[2].dtype = Dtype::kInt32;
  const AdmissionReport report = admit(job, std::move(options));
  ASSERT_NE(row(report, "baseline naive"), nullptr);
  EXPECT_FALSE(row(report, "baseline naive")->ok);
  EXPECT_THAT(row(report, "baseline naive")->found,
              AllOf(HasSubstr("got 2, reference 3"), HasSubstr("Integers must be equal. Change: "),
                    HasSubstr("docs/formats/spec.md, Rounding to integers")));
}

TEST(Admission, RefusesASpecWhoseBaselineFailsAGateBehindTheChecks) {
  Job job = admission("differs_in_bits");
  EXPECT_TRUE(row(admit(job), "baseline naive")->ok);
  job.deterministic = true;
  const AdmissionReport report = admit(job);
  EXPECT_FALSE(report.admitted);
  EXPECT_FALSE(row(report, "baseline naive")->ok);
  EXPECT_THAT(row(report, "baseline naive")->found, HasSubstr("repeat: not_repeatable"));
}

TEST(Admission, RefusesABoundThatZerosPass) {
  Job job = admission();
  job.bounds["y"].acc = 1e9;
  const AdmissionReport report = admit(job);
  EXPECT_FALSE(report.admitted);
  EXPECT_FALSE(row(report, "zeros")->ok);
  EXPECT_FALSE(row(report, "another seed's answer")->ok);
  EXPECT_TRUE(row(report, "nothing written")->ok);  // NaN is no zero, however wide the bound
}

TEST(Admission, RefusesAnInputThatDoesNotMatter) {
  fakes::HostDeviceOptions options = fakes::toy_device();
  options.kernels["naive"] = options.kernels["ignores_w"];
  options.kernels["reference"] = [reference = options.kernels["reference"]](const fakes::HostLaunch& launch) {
    fakes::HostLaunch without = launch;
    std::vector<float> zero(64, 0.0F);
    without.pointers[1] = zero.data();
    return reference(without);
  };
  const AdmissionReport report = admit(admission(), options);
  EXPECT_FALSE(report.admitted);
  EXPECT_FALSE(row(report, "input w")->ok);
  EXPECT_TRUE(row(report, "input x")->ok);
}

TEST(Admission, RefusesAScalarThatDoesNotMatter) {
  const AdmissionReport report = admit(admission("ignores_a"));
  EXPECT_FALSE(row(report, "input a")->ok);
  EXPECT_THAT(row(report, "input a")->found, HasSubstr("may ignore it"));
}

TEST(Admission, RefusesAScalarThatNoKernelOfTheBaselineTakes) {
  Job job = admission();
  for (Case& of : job.cases) {  // an axis has the same bits: that one is not to be changed in its place
    of.scalars["s"] = static_cast<double>(of.axes.at("N"));
    of.scalar_types["s"] = Dtype::kInt32;
  }
  const AdmissionReport report = admit(job);
  EXPECT_FALSE(report.admitted);
  EXPECT_FALSE(row(report, "input s")->ok);
  EXPECT_FALSE(row(report, "input s")->tried);
  EXPECT_THAT(row(report, "input s")->found, HasSubstr("no kernel of the baseline takes it"));
}

// A scalar s with the bits of N behind the toy's other arguments.
Job with_scalar_like_n(const std::string& baseline) {
  Job job = admission(baseline);
  for (std::size_t i = 0; i < job.cases.size(); ++i) {
    job.cases[i].scalars["s"] = static_cast<double>(job.cases[i].axes.at("N"));
    job.cases[i].scalar_types["s"] = Dtype::kInt32;
    for (Launch& launch : job.arms[0].plans[i].launches) {
      launch.args.push_back(
          {Arg::Kind::kScalar, 0, static_cast<std::uint64_t>(job.cases[i].axes.at("N")), 4, "s", Dtype::kInt32});
    }
  }
  return job;
}

TEST(Admission, GivesAScalarAnotherValueAndNoArgumentThatHappensToEqualIt) {
  fakes::HostDeviceOptions options = fakes::toy_device();
  std::set<std::pair<int, int>> seen;  // N, s
  options.kernels["adds_s"] = [&seen, naive = options.kernels["naive"]](const fakes::HostLaunch& launch) {
    seen.emplace(launch.scalar<int>(5), launch.scalar<int>(7));
    return naive(launch);
  };
  const AdmissionReport report = admit(with_scalar_like_n("adds_s"), options);
  EXPECT_THAT(seen, testing::UnorderedElementsAre(std::pair(8, 8), std::pair(16, 16), std::pair(16, 15)));
  EXPECT_TRUE(row(report, "input s")->tried);
  EXPECT_FALSE(row(report, "input s")->ok);  // it is ignored
}

TEST(Admission, SaysSoWhereTheBaselineDoesNotBearAnotherScalarAndKeepsWhatElseItFound) {
  fakes::HostDeviceOptions options = fakes::toy_device();
  options.kernels["needs_s"] = [naive = options.kernels["naive"]](const fakes::HostLaunch& launch) -> OrFault<void> {
    if (launch.scalar<int>(5) != launch.scalar<int>(7)) {
      return std::unexpected(DeviceFault{DeviceFault::Kind::kIllegalAccess, "far away"});
    }
    return naive(launch);
  };
  const AdmissionReport report = admit(with_scalar_like_n("needs_s"), options);
  ASSERT_NE(row(report, "input s"), nullptr);
  EXPECT_FALSE(row(report, "input s")->tried);
  EXPECT_TRUE(row(report, "input s")->ok);
  EXPECT_THAT(row(report, "input s")->found,
              HasSubstr("with 15 in place of 16 the baseline does not end as it should"));
  EXPECT_TRUE(row(report, "input a")->tried);
  EXPECT_NE(row(report, "another seed's answer"), nullptr);
}

TEST(Admission, SaysWhenAnInputCouldNotBeTried) {
  Job job = admission();
  for (Case& of : job.cases) {
    of.tensors[1].values.assign(static_cast<std::size_t>(of.axes.at("N")), 2);
  }
  const AdmissionReport report = admit(job);
  EXPECT_TRUE(report.admitted);
  EXPECT_FALSE(row(report, "input w")->tried);
  EXPECT_THAT(row(report, "input w")->found, AllOf(HasSubstr("not tried"), HasSubstr("add such a case")));
  EXPECT_TRUE(row(report, "input x")->tried);
}

TEST(Admission, TakesOtherListedContentsFromACaseOfTheSameSizes) {
  for (const std::string baseline : {"naive", "ignores_w"}) {
    Job job = fakes::toy_check(baseline, {toy_case(5, 16, 20), toy_case(5, 16, 20)});
    job.kind = Job::Kind::kAdmit;
    for (std::size_t i = 0; i < 2; ++i) {
      job.cases[i].tensors[1].values.assign(16, baseline == "naive" ? 2 + static_cast<std::int64_t>(i) : 0);
    }
    job.cases[1].tensors[1].values[3] = 5;
    if (baseline == "ignores_w") {  // the check of the second case would refuse it before
      std::erase_if(job.checks, [](const CheckPoint& point) { return point.case_index == 1; });
    }
    const AdmissionReport report = admit(job);
    EXPECT_TRUE(row(report, "input w")->tried);
    EXPECT_EQ(row(report, "input w")->ok, baseline == "naive");
  }
}

TEST(Admission, RefusesASpecInWhichAnInputIsInNoCaseThatCanBeTried) {
  Job job = admission();
  std::erase_if(job.checks, [](const CheckPoint& point) { return point.case_index == 1; });
  job.cases[1].scalars["z"] = 3;
  job.cases[1].scalar_types["z"] = Dtype::kInt32;
  job.checks.push_back({1, "constant", {5, 6}, 0});
  const AdmissionReport report = admit(job);
  EXPECT_FALSE(report.admitted);
  EXPECT_FALSE(row(report, "input z")->ok);
  EXPECT_THAT(row(report, "input z")->found, HasSubstr("not tried: every check case that has it"));
  EXPECT_TRUE(row(report, "input x")->ok);
}

TEST(Admission, RefusesARelationThatNoCheckCaseFits) {
  Job job = admission();
  job.relations = {"permute:M", "permute:N"};
  EXPECT_EQ(row(admit(job), "relation permute"), nullptr);
  for (Case& of : job.cases) {
    of.axes["M"] = 1;
    of.tensors[0].extent[0] = of.tensors[2].extent[0] = 1;
  }
  const AdmissionReport report = admit(job);
  EXPECT_FALSE(report.admitted);
  ASSERT_NE(row(report, "relation permute:M"), nullptr);
  EXPECT_FALSE(row(report, "relation permute:M")->tried);
  EXPECT_THAT(row(report, "relation permute:M")->found, HasSubstr("M is 1: add a check case in which it is larger"));
  EXPECT_EQ(row(report, "relation permute:N"), nullptr);
}

TEST(Admission, RefusesAnOperationThatCopies) {
  fakes::HostDeviceOptions options = fakes::toy_device();
  options.kernels["naive"] = options.kernels["copies_x"];
  options.kernels["reference"] = [](const fakes::HostLaunch& launch) -> OrFault<void> {
    const int m = launch.scalar<int>(5), n = launch.scalar<int>(6), ldx = launch.scalar<int>(7);
    for (int i = 0; i < m * n; ++i) {
      launch.pointer<double>(2)[i] = launch.pointer<const float>(0)[i / n * ldx + i % n];
      launch.pointer<double>(3)[i] = 1;
    }
    return {};
  };
  const AdmissionReport report = admit(admission(), options);
  EXPECT_FALSE(row(report, "a copy of x")->ok);
}

TEST(Admission, LooksAtNoFlatFamilyAndRefusesASpecThatHasNoOther) {
  Job job = admission();
  for (CheckPoint& point : job.checks) {
    point.family = "zero";
  }
  const AdmissionReport report = admit(job);
  EXPECT_EQ(row(report, "null candidate:"), nullptr);
  EXPECT_FALSE(report.admitted);  // nothing told right from wrong
  EXPECT_FALSE(row(report, "input x")->ok);
}

TEST(Admission, BlamesTheRigWhenTheDeviceFails) {
  fakes::HostDeviceOptions options = fakes::toy_device();
  options.inject = [](std::string_view verb) -> std::optional<DeviceFault> {
    return verb == "write" ? std::optional(DeviceFault{DeviceFault::Kind::kLost, "gone"}) : std::nullopt;
  };
  const auto device = make_host_device(std::move(options));
  const auto report = run_admission(*device, admission(), [](Phase) {});
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().kind, Fault::Kind::kRig);
}

TEST(Admission, NeedsABaseline) {
  Job job = admission();
  job.arms.clear();
  const auto device = make_host_device(fakes::toy_device());
  EXPECT_FALSE(run_admission(*device, job, [](Phase) {}));
}

// ---- numbers: orders of summation, conditioning, exact probes --------------------------------------

// The toy reference in float32, with an error of its own; outputs lie as floats in the float64 buffer.
ReferenceVariant in_float32(const std::vector<Case>& cases, const std::string& entry) {
  ReferenceVariant variant;
  variant.kind = ReferenceVariant::Kind::kFloat32;
  variant.arm = fakes::toy_reference(cases);
  for (ReferencePlan& plan : variant.arm.plans) {
    for (Launch& launch : plan.plan.launches) {
      launch.entry = entry;
    }
    if (plan.tail_plan) {
      for (Launch& launch : plan.tail_plan->launches) {
        launch.entry = entry;
      }
    }
  }
  return variant;
}
fakes::HostKernel float_reference(float error) {
  return [error](const fakes::HostLaunch& launch) -> OrFault<void> {
    const int m = launch.scalar<int>(5), n = launch.scalar<int>(6), ldx = launch.scalar<int>(7);
    for (int i = 0; i < m * n; ++i) {
      const float product = launch.scalar<float>(4) * launch.pointer<const float>(0)[i / n * ldx + i % n];
      launch.pointer<float>(2)[i] = (product + launch.pointer<const float>(1)[i % n]) * (1.0F + error);
    }
    return {};
  };
}
// The variants of an admission: float32 with `error`, and inputs that may be moved (the toy's are float32 already).
Job with_variants(Job job) {
  job.variants.push_back(in_float32(job.cases, "float_reference"));
  ReferenceVariant wide;
  wide.kind = ReferenceVariant::Kind::kWideInputs;
  wide.cases = job.cases;
  wide.arm = job.reference;
  job.variants.push_back(std::move(wide));
  return job;
}
fakes::HostDeviceOptions device_with(float error) {
  fakes::HostDeviceOptions options = fakes::toy_device();
  options.kernels["float_reference"] = float_reference(error);
  return options;
}

TEST(AdmissionNumbers, FindOrdersOfSummationWithinHalfOfTheBound) {
  const AdmissionReport report = admit(with_variants(admission()), device_with(0));
  EXPECT_TRUE(report.admitted);
  ASSERT_NE(row(report, "the reference in float32"), nullptr);
  EXPECT_THAT(row(report, "the reference in float32")->found, HasSubstr("of the bound, at y["));
  EXPECT_NE(row(report, "float32 order: the baseline"), nullptr);
}

TEST(AdmissionNumbers, RefuseABoundThatAnHonestOrderNeedsMoreThanHalfOf) {
  Job job = with_variants(admission());
  job.bounds["y"] = {.ulp = 1, .acc = 2, .condition = "y__cond"};
  const AdmissionReport report = admit(job, device_with(0x1p-21F));  // about 4 ulp, where few inputs cancel
  EXPECT_FALSE(report.admitted);
  EXPECT_FALSE(row(report, "the reference in float32")->ok);
  EXPECT_THAT(row(report, "the reference in float32")->found, HasSubstr("raise acc"));
  EXPECT_TRUE(row(report, "float32 order: the baseline")->ok);
}

TEST(AdmissionNumbers, SayWhyAnOrderWasNotTriedAndHowToOfferIt) {
  Job job = with_variants(admission());
  job.variants[0].unavailable = "it does not compile";
  const AdmissionReport report = admit(job, device_with(0));
  EXPECT_TRUE(report.admitted);
  EXPECT_FALSE(row(report, "the reference in float32")->tried);
  EXPECT_THAT(row(report, "the reference in float32")->found, HasSubstr("not tried: it does not compile"));
  EXPECT_THAT(row(report, "the reference in float32")->found, HasSubstr("`double` read as `float`"));
}

// A staircase whose jumps lie on the integers: contents of integers are on its edge everywhere.
template <class Out>
fakes::HostKernel staircase(float nudge) {
  return [nudge](const fakes::HostLaunch& launch) -> OrFault<void> {
    const int m = launch.scalar<int>(5), n = launch.scalar<int>(6), ldx = launch.scalar<int>(7);
    for (int i = 0; i < m * n; ++i) {
      const double x = launch.pointer<const float>(0)[i / n * ldx + i % n];
      launch.pointer<Out>(2)[i] = static_cast<Out>(std::floor(x + nudge) + 0.5);
    }
    for (int i = 0; sizeof(Out) == sizeof(double) && i < m * n; ++i) {
      launch.pointer<double>(3)[i] = 1;
    }
    return {};
  };
}

TEST(AdmissionNumbers, CountIllConditionedElementsAndRefuseASpecThatIsFullOfThem) {
  fakes::HostDeviceOptions options = fakes::toy_device();
  options.kernels["reference"] = staircase<double>(0);
  options.kernels["float_reference"] = staircase<float>(-0.001F);
  Job job = with_variants(admission());
  job.checks.resize(1);
  job.checks[0].family = "integers";
  const AdmissionReport report = admit(job, options);
  const AdmissionRow* found = row(report, "ill-conditioned elements of y");
  ASSERT_NE(found, nullptr);
  EXPECT_FALSE(found->ok);
  EXPECT_THAT(found->found, HasSubstr("cannot be left out"));
  EXPECT_THAT(found->found, HasSubstr("moves"));
}

TEST(AdmissionNumbers, FindNothingIllConditionedAwayFromJumps) {
  fakes::HostDeviceOptions options = fakes::toy_device();
  options.kernels["reference"] = staircase<double>(0.25F);
  options.kernels["float_reference"] = staircase<float>(0.25F);
  Job job = with_variants(admission());
  job.checks.resize(1);
  job.checks[0].family = "integers";
  const AdmissionReport report = admit(job, options);
  const AdmissionRow* found = row(report, "ill-conditioned elements of y");
  ASSERT_NE(found, nullptr);
  EXPECT_TRUE(found->ok);
  EXPECT_EQ(found->found.substr(0, 5), "0 of ");
}

TEST(AdmissionNumbers, CountIllConditionedIntegersAndNothingElseOfThem) {
  fakes::HostDeviceOptions options = fakes::toy_device();
  Job job = with_variants(admission());
  job.checks.resize(1);
  job.checks[0].family = "integers";
  for (Case& of : job.cases) {
    of.tensors[2].dtype = Dtype::kInt32;
  }
  options.kernels["good"] = options.kernels["naive"] = [](const fakes::HostLaunch& launch) -> OrFault<void> {
    const int m = launch.scalar<int>(4), n = launch.scalar<int>(5), ldx = launch.scalar<int>(6);
    for (int i = 0; i < m * n; ++i) {
      const int at = i / n * ldx + i % n;
      launch.pointer<int>(2)[at] = static_cast<int>(std::rint(std::floor(launch.pointer<const float>(0)[at]) + 0.5));
    }
    return {};
  };
  for (const float nudge : {0.0F, 0.25F}) {
    options.kernels["reference"] = [nudge](const fakes::HostLaunch& launch) -> OrFault<void> {
      const int m = launch.scalar<int>(5), n = launch.scalar<int>(6), ldx = launch.scalar<int>(7);
      for (int i = 0; i < m * n; ++i) {
        const double x = launch.pointer<const float>(0)[i / n * ldx + i % n];
        launch.pointer<double>(2)[i] = std::rint(std::floor(x + static_cast<double>(nudge)) + 0.5);
        launch.pointer<double>(3)[i] = 1;
      }
      return {};
    };
    options.kernels["float_reference"] = [](const fakes::HostLaunch& launch) -> OrFault<void> {
      const int m = launch.scalar<int>(5), n = launch.scalar<int>(6), ldx = launch.scalar<int>(7);
      for (int i = 0; i < m * n; ++i) {
        launch.pointer<float>(2)[i] =
            std::rint(std::floor(launch.pointer<const float>(0)[i / n * ldx + i % n] - 0.001F));
      }
      return {};
    };
    const AdmissionReport report = admit(job, options);
    const AdmissionRow* found = row(report, "ill-conditioned elements of y");
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->ok, nudge > 0) << found->found;
    ASSERT_NE(row(report, "the reference in float32"), nullptr);
    EXPECT_TRUE(row(report, "the reference in float32")->ok);
  }
}

TEST(AdmissionNumbers, RefuseExactContentsThatNoFloat32KernelGetsExactly) {
  Job job = with_variants(admission());
  for (CheckPoint& point : job.checks) {
    point.family = "normal";
  }
  job.bounds["y"].exact = {"normal"};
  const AdmissionReport report = admit(job, device_with(0x1p-22F));
  EXPECT_FALSE(report.admitted);
  EXPECT_FALSE(row(report, "exact probe of y: normal")->ok);
}

TEST(AdmissionNumbers, OfferExactProbesThatTheSpecDoesNotAskFor) {
  Job job = with_variants(admission());
  for (CheckPoint& point : job.checks) {
    point.family = "integers";
  }
  const AdmissionReport report = admit(job, device_with(0));
  ASSERT_NE(row(report, "exact probe of y: integers"), nullptr);
  EXPECT_TRUE(row(report, "exact probe of y: integers")->ok);
  EXPECT_THAT(row(report, "exact probe of y: integers")->found, HasSubstr("\"exact\": [\"integers\"]"));
}

// ---- influence: half of an input must matter --------------------------------------------------------

// y[row][column] = x + the mean of the row, by a share: a small one hides within the bound.
fakes::HostKernel mean_reference(double share) {
  return [share](const fakes::HostLaunch& launch) -> OrFault<void> {
    const int m = launch.scalar<int>(5), n = launch.scalar<int>(6), ldx = launch.scalar<int>(7);
    for (int row = 0; row < m; ++row) {
      const float* x = launch.pointer<const float>(0) + row * ldx;
      double sum = 0;
      for (int i = 0; i < n; ++i) {
        sum += x[i];
      }
      for (int i = 0; i < n; ++i) {
        launch.pointer<double>(2)[row * n + i] = x[i] + share * sum / n;
        launch.pointer<double>(3)[row * n + i] = 1;
      }
    }
    return {};
  };
}
Job with_influence() {
  Job job = admission();
  job.checks.clear();
  job.influence = {{0, "normal", {5}, 0}};
  return job;
}

TEST(Influence, SaysWhereEveryHalfMatters) {
  fakes::HostDeviceOptions options = fakes::toy_device();
  options.kernels["reference"] = mean_reference(1.0);
  const AdmissionReport report = admit(with_influence(), options);
  ASSERT_NE(row(report, "half of x along N"), nullptr);
  EXPECT_TRUE(row(report, "half of x along N")->ok);
  EXPECT_EQ(row(report, "half of x along M"), nullptr);  // rows are alone
}

TEST(Influence, RefusesASpecInWhichHalfOfAnInputMayBeIgnored) {
  fakes::HostDeviceOptions options = fakes::toy_device();
  options.kernels["reference"] = mean_reference(1e-9);
  const AdmissionReport report = admit(with_influence(), options);
  EXPECT_FALSE(report.admitted);
  ASSERT_NE(row(report, "half of x along N"), nullptr);
  EXPECT_FALSE(row(report, "half of x along N")->ok);
  EXPECT_THAT(row(report, "half of x along N")->found, HasSubstr("more variation"));
}

TEST(Influence, SaysWhereNoTimedCaseCouldBeTried) {
  const AdmissionReport report = admit(admission());
  ASSERT_NE(row(report, "halves of the inputs"), nullptr);
  EXPECT_FALSE(row(report, "halves of the inputs")->tried);
}

TEST(Influence, IsNotAskedWhereEachOutputDependsOnItsOwnInput) {
  const AdmissionReport report = admit(with_influence());
  EXPECT_NE(row(report, "halves of the inputs"), nullptr);
  EXPECT_TRUE(row(report, "halves of the inputs")->ok);
}

}  // namespace
}  // namespace kf
