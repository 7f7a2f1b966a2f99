// SPDX-License-Identifier: Apache-2.0
#include "cli/setting_values.h"

#include <gtest/gtest.h>

namespace kf {
namespace {

SettingLayers with_flag(const std::string& key, const std::string& value) {
  SettingLayers layers;
  layers.flags[key] = value;
  return layers;
}

TEST(Settings, HaveABuiltInValueOfTheirKindEach) {
  const OrErrors<Settings> settings = Settings::resolve({});
  ASSERT_TRUE(settings) << to_string(settings.error());
  for (const SettingFacts& facts : all_settings()) {
    EXPECT_EQ(settings->origin(facts.key), "built in");
  }
}

TEST(Settings, HaveUniqueKeysFlagsAndVariables) {
  Map<int> seen;
  for (const SettingFacts& facts : all_settings()) {
    ++seen[std::string(facts.key)];
    if (!facts.flag.empty()) {
      ++seen[std::string(facts.flag)];
    }
    ++seen[environment_name(facts.key)];
  }
  for (const auto& [name, count] : seen) {
    EXPECT_EQ(count, 1) << name;
  }
}

TEST(Settings, RefuseValuesOfAnotherKindWithWhatIsAllowed) {
  for (const auto& [key, value] :
       {std::pair{"run.attempts", "-1"}, std::pair{"run.wall", "soon"}, std::pair{"run.cost", "a lot"},
        std::pair{"run.margin", "1.5"}, std::pair{"device.kind", "tpu"}, std::pair{"model.provider", "x"}}) {
    const OrErrors<Settings> settings = Settings::resolve(with_flag(key, value));
    ASSERT_FALSE(settings) << key;
    EXPECT_NE(settings.error()[0].what.find("allowed"), std::string::npos);
  }
}

TEST(Settings, ReadTimesWithUnits) {
  EXPECT_EQ(time_from_text("90"), std::chrono::seconds(90));
  EXPECT_EQ(time_from_text("250ms"), std::chrono::milliseconds(250));
  EXPECT_EQ(time_from_text("15m"), std::chrono::minutes(15));
  EXPECT_EQ(time_from_text("2h"), std::chrono::hours(2));
  EXPECT_EQ(time_from_text("1d"), std::chrono::hours(24));
  for (const char* wrong : {"", "m", "1w", "-1s", "1.5h", "99999999999999999999"}) {
    EXPECT_FALSE(time_from_text(wrong)) << wrong;
  }
}

TEST(Settings, ReadDollarsExactly) {
  EXPECT_EQ(Settings::resolve(with_flag("run.cost", "2.5"))->nanodollars("run.cost"), 2'500'000'000);
}

TEST(Settings, KeepAProjectFileFromWhatDecidesWhereKeysGo) {
  SettingLayers layers;
  layers.project = SettingsFile{"kfactory.toml", {{"model.base_url", "http://evil.example"}}};
  ASSERT_FALSE(Settings::resolve(layers));
  layers.trust_project = true;
  EXPECT_EQ(Settings::resolve(layers)->text("model.base_url"), "http://evil.example");
  layers.trust_project = false;
  layers.user = std::move(layers.project);
  layers.project.reset();
  EXPECT_TRUE(Settings::resolve(layers));
}

}  // namespace
}  // namespace kf
