// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "fixtures.h"

namespace kf {
namespace {

using test::kSpecText;
using test::with;
using testing::ElementsAre;
using testing::HasSubstr;

// x: 128 rows of 4096 bfloat16, 1 MiB.
OrErrors<ResolvedPlan> resolve(std::string_view map, std::string_view spec_text = kSpecText,
                               const DeviceFacts& facts = test::h200()) {
  const auto spec = test::spec_of(spec_text);
  EXPECT_TRUE(spec) << (spec ? "" : to_string(spec.error()));
  const auto plan = parse_plan(
      R"({"plan": 1, "workspaces": {"buffer": {"bytes": 65536}}, "tensor_maps": {"map": {)" + std::string(map) +
          R"(}}, "kernels": [{"name": "k", "grid": [1], "block": [32], "args": ["map", "y", "state"]}]})",
      "");
  if (!plan || !spec) {
    return std::unexpected(plan ? Errors{} : plan.error());
  }
  return resolve_plan(*spec, *plan, spec->cases.at("time")[0], {}, facts, test::build_with({"k"}));
}

std::string errors(std::string_view map, std::string_view spec_text = kSpecText) {
  const auto plan = resolve(map, spec_text);
  EXPECT_FALSE(plan) << "was accepted";
  return plan ? "" : to_string(plan.error());
}

TEST(TensorMap, ResolvesEveryField) {
  const auto plan =
      resolve(R"map("tensor": "x", "offset": 32, "dims": ["N - 16", "M"], "strides_bytes": ["LDX * sizeof(T)"],
    "box": [64, 8], "element_strides": [1, 2], "swizzle": "128B", "l2_promotion": "256B", "oob": "nan")map");
  ASSERT_TRUE(plan) << to_string(plan.error());
  ASSERT_EQ(plan->maps.size(), 1u);
  const TensorMap& map = plan->maps[0];
  EXPECT_EQ(map.name, "map");
  EXPECT_FALSE(map.of_workspace);
  EXPECT_EQ(map.index, 0);
  EXPECT_EQ(map.dtype, Dtype::kBfloat16);
  EXPECT_EQ(map.offset_bytes, 32);
  EXPECT_THAT(map.dims, ElementsAre(4080u, 128u));
  EXPECT_THAT(map.strides_bytes, ElementsAre(8192u));
  EXPECT_THAT(map.box, ElementsAre(64u, 8u));
  EXPECT_THAT(map.element_strides, ElementsAre(1u, 2u));
  EXPECT_EQ(map.swizzle, Swizzle::k128B);
  EXPECT_EQ(map.l2_promotion, L2Promotion::k256B);
  EXPECT_TRUE(map.oob_nan);
  EXPECT_EQ(plan->launches[0].args[0].kind, Arg::Kind::kTensorMap);
  EXPECT_EQ(plan->launches[0].args[0].width, 128);
}

TEST(TensorMap, MapsWorkspacesOfAStatedType) {
  const auto plan =
      resolve(R"("tensor": "buffer", "dtype": "float32", "dims": [128, 128], "strides_bytes": [512], "box": [32, 8])");
  ASSERT_TRUE(plan) << to_string(plan.error());
  EXPECT_TRUE(plan->maps[0].of_workspace);
  EXPECT_THAT(errors(R"("tensor": "buffer", "dims": [128], "box": [32])"),
              HasSubstr("a tensor map of a workspace needs \"dtype\""));
  EXPECT_THAT(errors(R"("tensor": "nothing", "dims": [128], "box": [32])"),
              HasSubstr("$.tensor_maps.map.tensor: \"nothing\" is no tensor of this case and no workspace"));
}

TEST(TensorMap, ReachesNoFurtherThanItsMemory) {
  EXPECT_THAT(
      errors(R"("tensor": "x", "dims": ["N", "M + 1"], "strides_bytes": ["N * 2"], "box": [64, 8])"),
      HasSubstr("$.tensor_maps.map.dims: the map reaches 8192 bytes past the end of \"x\", which has 1048576 bytes"));
  EXPECT_THAT(errors(R"("tensor": "buffer", "dtype": "float32", "offset": 16, "dims": [16384], "box": [32])"),
              HasSubstr("16 bytes past the end of \"buffer\""));
}

TEST(TensorMap, DimsAreOneToTwoToThe32) {
  EXPECT_THAT(errors(R"("tensor": "x", "dims": [0], "box": [64])"),
              HasSubstr("$.tensor_maps.map.dims[0]: \"0\" is 0, allowed: 1 to 2^32"));
  EXPECT_THAT(errors(R"("tensor": "x", "dims": ["2^32 + 1"], "box": [64])"), HasSubstr("allowed: 1 to 2^32"));
}

TEST(TensorMap, StridesAreMultiplesOf16Below2To40) {
  EXPECT_THAT(errors(R"("tensor": "x", "dims": [64, 2], "strides_bytes": [8200], "box": [64, 1])"),
              HasSubstr("$.tensor_maps.map.strides_bytes[0]: \"8200\" is 8200, allowed: multiples of 16 below 2^40"));
  EXPECT_THAT(errors(R"("tensor": "x", "dims": [64, 2], "strides_bytes": ["2^40"], "box": [64, 1])"),
              HasSubstr("below 2^40"));
}

TEST(TensorMap, BoxesAreAtMost256AndAMultipleOf16BytesWide) {
  EXPECT_THAT(errors(R"("tensor": "x", "dims": ["N"], "box": [257])"),
              HasSubstr("$.tensor_maps.map.box[0]: \"257\" is 257, allowed: 1 to 256"));
  EXPECT_THAT(errors(R"("tensor": "x", "dims": ["N"], "box": [0])"), HasSubstr("is 0, allowed: 1 to 256"));
  EXPECT_THAT(errors(R"("tensor": "x", "dims": ["N"], "box": [12])"),
              HasSubstr("the box is 24 bytes wide, allowed: multiples of 16"));
}

TEST(TensorMap, SwizzlesBoundTheBoxWidth) {
  EXPECT_TRUE(resolve(R"("tensor": "x", "dims": ["N"], "box": [16], "swizzle": "32B")"));
  EXPECT_THAT(errors(R"("tensor": "x", "dims": ["N"], "box": [24], "swizzle": "32B")"),
              HasSubstr("the box is 48 bytes wide, a swizzle of 32B allows 32"));
  EXPECT_THAT(errors(R"("tensor": "x", "dims": ["N"], "box": [128], "swizzle": "128B")"),
              HasSubstr("a swizzle of 128B allows 128"));
}

TEST(TensorMap, ElementStridesAreOneToEight) {
  EXPECT_THAT(errors(R"("tensor": "x", "dims": ["N"], "box": [64], "element_strides": [9])"),
              HasSubstr("$.tensor_maps.map.element_strides[0]: found 9, allowed: 1 to 8"));
}

TEST(TensorMap, OffsetsAreMultiplesOf16) {
  EXPECT_THAT(errors(R"("tensor": "x", "offset": 8, "dims": [64], "box": [64])"),
              HasSubstr("$.tensor_maps.map.offset: the offset is 8"));
  EXPECT_THAT(errors(R"("tensor": "x", "offset": "0 - 16", "dims": [64], "box": [64])"),
              HasSubstr("the offset is -16"));
}

TEST(TensorMap, TheTensorMustBeAlignedTo16) {
  EXPECT_THAT(errors(R"("tensor": "x", "dims": [64], "box": [64])", with(kSpecText, "\"align\": 16", "\"align\": 8")),
              HasSubstr("$.tensor_maps.map.tensor: \"x\" is aligned to 8 bytes, a tensor map needs 16"));
}

TEST(TensorMap, InterleavedMapsHaveTheirOwnRules) {
  EXPECT_THAT(errors(R"("tensor": "x", "dims": [64], "box": [8], "interleave": "16B")"),
              HasSubstr("needs 3 dims or more"));
  const std::string aligned = with(kSpecText, "\"align\": 16", "\"align\": 32");
  EXPECT_THAT(
      errors(R"("tensor": "x", "dims": [16, 8, 8], "strides_bytes": [32, 256], "box": [8, 1, 1], "interleave": "32B")",
             aligned),
      HasSubstr("\"interleave\": \"32B\" goes with \"swizzle\": \"32B\" only"));
  EXPECT_TRUE(resolve(
      R"("tensor": "x", "dims": [16, 8, 8], "strides_bytes": [32, 256], "box": [8, 1, 1], "interleave": "32B", "swizzle": "32B")",
      aligned));
}

TEST(TensorMap, NanFillNeedsAFloatingType) {
  EXPECT_THAT(errors(R"("tensor": "buffer", "dtype": "int32", "dims": [64], "box": [32], "oob": "nan")"),
              HasSubstr("\"nan\" needs a floating-point dtype, this is int32"));
}

TEST(TensorMap, OfAnAbsentTensorSaysWhatToDo) {
  EXPECT_THAT(errors(R"("tensor": "bias", "dims": [64], "box": [32])"),
              HasSubstr("the tensor map \"map\" is of \"bias\", which is absent in this case (give the kernel "
                        "\"when\": \"has(bias)\""));
}

TEST(TensorMap, NeedsHopper) {
  const auto plan = resolve(R"("tensor": "x", "dims": [64], "box": [64])", kSpecText, *named_target("A100"));
  ASSERT_FALSE(plan);
  EXPECT_THAT(to_string(plan.error()), HasSubstr("tensor maps need sm_90 or newer, this is sm_80"));
}

TEST(TensorMap, BindsTheOutputThatItMaps) {
  const auto spec = test::spec_of(kSpecText);
  const auto plan = parse_plan(
      R"({"plan": 1, "tensor_maps": {"out": {"tensor": "y", "dims": ["N", "M"], "strides_bytes": ["N * 2"], "box": [64, 8]},
          "unused": {"tensor": "y", "dims": [0], "box": [1]}},
          "kernels": [{"name": "k", "grid": [1], "block": [32], "args": ["out", "state", "out"]}]})",
      "");
  ASSERT_TRUE(plan) << to_string(plan.error());
  const auto resolved =
      resolve_plan(*spec, *plan, spec->cases.at("time")[0], {}, test::h200(), test::build_with({"k"}));
  ASSERT_TRUE(resolved) << to_string(resolved.error());
  EXPECT_EQ(resolved->maps.size(), 1u) << "a map is made once, and only when a launch gets it";
}

}  // namespace
}  // namespace kf
