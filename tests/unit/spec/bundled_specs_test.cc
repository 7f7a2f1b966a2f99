// SPDX-License-Identifier: Apache-2.0
// The specs that come with the project, their references and baselines: sound for every case they list.
#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "fixtures.h"

namespace kf {
namespace {

class BundledSpec : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    OrErrors<Spec> loaded = load_spec(std::string(KF_SOURCE_DIR) + "/" + GetParam());
    ASSERT_TRUE(loaded) << to_string(loaded.error());
    spec_ = std::move(*loaded);
  }

  static Candidate candidate(const SourceFile& file) {
    OrErrors<Candidate> parsed = parse_candidate(file.content, file.path);
    EXPECT_TRUE(parsed) << (parsed ? "" : to_string(parsed.error()));
    return parsed.value_or(Candidate{});
  }

  void expect_resolves(const Candidate& candidate, const Case& of) const {
    for (const Assignment& point : tune_points(candidate.plan)) {
      const auto request = build_request(spec_, candidate, of, point, test::h200());
      ASSERT_TRUE(request) << of.id.value << ": " << to_string(request.error());
      Build build;
      for (const KernelSpec& kernel : candidate.plan.kernels) {
        build.kernels.push_back({.entry = kernel.entry, .registers = 40});
      }
      const auto plan = resolve_plan(spec_, candidate.plan, of, point, test::h200(), build);
      ASSERT_TRUE(plan) << of.id.value << ": " << to_string(plan.error());
    }
  }

  Spec spec_;
};

TEST_P(BundledSpec, ResolvesItsReferenceForEverySlice) {
  const Candidate reference = candidate(spec_.reference.cuda);
  for (const auto& [set, cases] : spec_.cases) {
    for (const Case& of : cases) {
      const std::int64_t whole = of.axes.at(spec_.reference.slice);
      for (const std::int64_t extent : {whole, std::min<std::int64_t>(whole, 3)}) {
        const auto slice = slice_of(spec_, of, spec_.reference.slice, extent);
        ASSERT_TRUE(slice) << of.id.value << ": " << to_string(slice.error());
        expect_resolves(reference, *slice);
      }
    }
  }
}

TEST_P(BundledSpec, ResolvesItsBaselinesForEveryCase) {
  for (const BaselineSpec& baseline : spec_.baselines) {
    const Candidate kernel = candidate(baseline.source);
    for (const auto& [set, cases] : spec_.cases) {
      for (const Case& of : cases) {
        expect_resolves(kernel, of);
      }
    }
  }
}

TEST_P(BundledSpec, HasAllFourSetsWithIdsOfTheirOwn) {
  std::set<std::string> ids;
  for (const char* set : {"check", "time", "emulate", "held_out"}) {
    EXPECT_FALSE(spec_.cases.at(set).empty()) << set;
    for (const Case& of : spec_.cases.at(set)) {
      EXPECT_TRUE(ids.insert(of.id.value).second) << of.id.value;
      EXPECT_EQ(of.set, set);
    }
  }
}

TEST_P(BundledSpec, KnowsTheWorkOfEveryCase) {
  for (const auto& [set, cases] : spec_.cases) {
    for (const Case& of : cases) {
      const auto work = work_of(spec_, of);
      ASSERT_TRUE(work) << to_string(work.error());
      std::int64_t outputs = 0;
      for (const Tensor& tensor : of.tensors) {
        outputs += tensor.role == TensorRole::kOutput ? tensor.elements() * size_in_bytes(tensor.dtype) : 0;
      }
      EXPECT_EQ(work->write_bytes, outputs) << of.id.value;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, BundledSpec,
                         testing::Values("specs/rmsnorm_fwd.json", "tests/specs/vector_add.json",
                                         "tests/specs/softmax.json"),
                         [](const auto& instance) {
                           const std::string path = instance.param;
                           return path.substr(path.rfind('/') + 1, path.rfind('.') - path.rfind('/') - 1);
                         });

TEST(RmsNorm, IsTimedOnElevenShapesInThreeTypes) {
  const OrErrors<Spec> spec = load_spec(KF_SOURCE_DIR "/specs/rmsnorm_fwd.json");
  ASSERT_TRUE(spec) << to_string(spec.error());
  const auto& timed = spec->cases.at("time");
  EXPECT_EQ(timed.size(), 33u);
  EXPECT_EQ(timed[0].id.value, "time/M=32768,N=256,T=bfloat16");
  const auto elements = [](const Case& of) { return of.axes.at("M") * of.axes.at("N"); };
  EXPECT_EQ(std::ranges::max(timed, {}, elements).tensors[0].elements(), std::int64_t{1} << 31);
}

}  // namespace
}  // namespace kf
