// SPDX-License-Identifier: Apache-2.0
#include <kfactory/varied_case.h>

#include "fixtures.h"

namespace kf {
namespace {

Spec bundled() {
  auto spec = load_spec(KF_SOURCE_DIR "/specs/rmsnorm_fwd.json");
  EXPECT_TRUE(spec);
  return spec ? *spec : Spec{};
}
const Case& named(const Spec& spec, const std::string& set, const std::string& part) {
  for (const Case& of : spec.cases.at(set)) {
    if (of.id.value.find(part) != std::string::npos) {
      return of;
    }
  }
  ADD_FAILURE() << part;
  return spec.cases.at(set).front();
}

TEST(ResizedCase, KeepsTypesScalarsAndOptionalTensors) {
  const Spec spec = bundled();
  const Case& of = named(spec, "check", "M=5,N=256,T=bfloat16,with=residual+residual_out");
  const auto made = resized_case(spec, of, {{"N", 257}}, "held_out");
  ASSERT_TRUE(made);
  EXPECT_EQ(made->id.value, "held_out/M=5,N=257,T=bfloat16,with=residual+residual_out");
  EXPECT_EQ(made->set, "held_out");
  EXPECT_EQ(made->tensors.size(), of.tensors.size());
  EXPECT_EQ(made->tensors[0].extent, (std::vector<std::int64_t>{5, 257}));
  const Case& with_eps = named(spec, "check", "eps=0.01");
  EXPECT_EQ(resized_case(spec, with_eps, {{"M", 9}}, "check")->scalars.at("eps"), 0.01);
}

TEST(ResizedCase, KeepsAnAxisThatTheCaseSetAsFarFromItsExpression) {
  const Spec spec = bundled();
  const Case& padded = named(spec, "check", "N=512,LDX=576");
  const auto made = resized_case(spec, padded, {{"N", 500}}, "held_out");
  ASSERT_TRUE(made);
  EXPECT_EQ(made->axes.at("LDX"), 564);
  EXPECT_EQ(made->tensors[0].stride, (std::vector<std::int64_t>{564, 1}));
}

TEST(ResizedCase, IsTheSameCaseWithoutOtherSizes) {
  const Spec spec = bundled();
  for (const Case& of : spec.cases.at("check")) {
    const auto made = resized_case(spec, of, {}, "check");
    ASSERT_TRUE(made) << of.id.value;
    EXPECT_EQ(made->id.value, of.id.value);
    EXPECT_EQ(made->axes, of.axes);
  }
}

TEST(ResizedCase, TakesOtherPitchesAndScalars) {
  const Spec spec = bundled();
  const Case& padded = named(spec, "check", "N=512,LDX=576");
  const auto pitched = varied_case(spec, padded, {{{"LDX", 515}}, {}}, "held_out");
  ASSERT_TRUE(pitched);
  EXPECT_EQ(pitched->tensors[0].stride, (std::vector<std::int64_t>{515, 1}));
  EXPECT_EQ(pitched->tensors[0].extent, padded.tensors[0].extent);
  EXPECT_FALSE(varied_case(spec, padded, {{{"LDX", 511}}, {}}, "held_out"));  // LDX >= N
  const auto scaled = varied_case(spec, padded, {{}, {{"eps", 0.25}}}, "held_out");
  ASSERT_TRUE(scaled);
  EXPECT_EQ(scaled->scalars.at("eps"), 0.25);
  EXPECT_NE(scaled->id.value.find("eps=0.25"), std::string::npos) << scaled->id.value;
}

TEST(ResizedCase, RefusesWhatAConstraintRefuses) {
  const Spec spec = bundled();
  EXPECT_FALSE(resized_case(spec, spec.cases.at("time").front(), {{"N", 0}}, "held_out"));
}

}  // namespace
}  // namespace kf
