// SPDX-License-Identifier: Apache-2.0
#include "cli/setting_values.h"
#include "cli/words.h"

#include <gtest/gtest.h>

#include <fstream>

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

SettingLayers from_toml(const std::string& text) {
  const std::string path = testing::TempDir() + "kfactory-settings.toml";
  std::ofstream(path) << text;
  SettingLayers layers;
  const OrErrors<std::optional<SettingsFile>> file = read_settings_file(path);
  EXPECT_TRUE(file) << to_string(file.error());
  layers.user = file.value_or(std::nullopt);
  return layers;
}

TEST(Settings, ReadListsAndTablesOfAFile) {
  const OrErrors<Settings> settings = Settings::resolve(from_toml(R"(
    [model]
    command = ["ask", "--file", "my notes.txt"]
    prices = [{model = "m-*", input = 1.25, output = 10, cached_input = 0.000001}, "other 1 2"]
    extra_headers = ["x-title: kernels: fast", {name = "x-team", value_env = "TEAM"}]
    temperature = 0.5
    stream = false
    idle_timeout = "15m"
  )"));
  ASSERT_TRUE(settings) << to_string(settings.error());
  EXPECT_EQ(*words_of(settings->text("model.command")), (std::vector<std::string>{"ask", "--file", "my notes.txt"}));
  const std::vector<Price> prices = *prices_from_text(settings->text("model.prices"));
  ASSERT_EQ(prices.size(), 2);
  EXPECT_EQ(prices[0].model, "m-*");
  EXPECT_EQ(prices[0].input, 1'250'000'000);
  EXPECT_EQ(prices[0].cached_input, 1'000);
  EXPECT_EQ(prices[1].cached_input, std::nullopt);
  const std::vector<ExtraHeader> headers = *headers_from_text(settings->text("model.extra_headers"));
  ASSERT_EQ(headers.size(), 2);
  EXPECT_EQ(headers[0].value, "kernels: fast");
  EXPECT_EQ(headers[1].value_env, "TEAM");
  EXPECT_EQ(settings->number("model.temperature"), 0.5);
  EXPECT_FALSE(settings->yes("model.stream"));
  EXPECT_EQ(settings->time("model.idle_timeout"), std::chrono::minutes(15));
}

TEST(Settings, GiveARoleItsOwnModelAndTheRestOfTheGeneralOne) {
  const OrErrors<Settings> settings = Settings::resolve(from_toml(R"(
    [model]
    name = "large"
    api_key_env = "KEY"
    effort = "high"
    [model.librarian]
    name = "small"
  )"));
  ASSERT_TRUE(settings);
  EXPECT_EQ(settings->roles(), std::vector<std::string>{"librarian"});
  const Settings own = settings->for_role("librarian");
  EXPECT_EQ(own.text("model.name"), "small");
  EXPECT_EQ(own.text("model.effort"), "high");
  EXPECT_EQ(own.text("model.api_key_env"), "KEY");
  EXPECT_EQ(settings->text("model.name"), "large");
}

TEST(Settings, SendNoKeyToAnEndpointThatARoleNames) {
  for (const char* line : {"base_url = \"https://other.example/v1\"", "provider = \"anthropic\""}) {
    const OrErrors<Settings> settings = Settings::resolve(from_toml(
        "[model]\nbase_url = \"https://one.example/v1\"\napi_key_env = \"KEY\"\nextra_headers = [\"t=TEAM\"]\n"
        "key_over_plain_http = true\n[model.writer]\n" +
        std::string(line) + "\n"));
    ASSERT_TRUE(settings);
    const Settings own = settings->for_role("writer");
    EXPECT_EQ(own.text("model.api_key_env"), "");
    EXPECT_EQ(own.text("model.extra_headers"), "");
    EXPECT_FALSE(own.yes("model.key_over_plain_http"));
    EXPECT_NE(own.text("model.base_url"), "https://one.example/v1");
  }
}

TEST(Settings, KeepAProjectFileFromTheEndpointOfARoleToo) {
  SettingLayers layers;
  layers.project = SettingsFile{"kfactory.toml", {{"model.writer.base_url", "http://evil.example"}}};
  EXPECT_FALSE(Settings::resolve(layers));
}

TEST(Settings, RefuseRolesKeysAndListsThatAreNotThere) {
  const std::string path = testing::TempDir() + "kfactory-wrong.toml";
  std::ofstream(path) << "[model]\neffrot = \"high\"\nname = [\"a\", \"b\"]\n[model.reviewer]\nname = \"x\"\n"
                         "[model.writer]\nmax_output_tokens = 5\n";
  const OrErrors<std::optional<SettingsFile>> file = read_settings_file(path);
  ASSERT_FALSE(file);
  ASSERT_EQ(file.error().size(), 4);
  const std::string text = to_string(file.error());
  EXPECT_NE(text.find("did you mean \"model.effort\"?"), std::string::npos) << text;
  EXPECT_NE(text.find("found a list"), std::string::npos);
}

TEST(Settings, RefuseHeadersWithoutQuotingWhatMayBeASecret) {
  const auto headers = headers_from_text("x-title: a\nsk-0451");
  ASSERT_FALSE(headers);
  EXPECT_EQ(to_string(headers.error()).find("0451"), std::string::npos);
}

TEST(Words, AreQuotedLikeInAShellAndNothingIsExpanded) {
  EXPECT_EQ(*words_of(R"(ask --file 'my notes' "say \"$HOME\"" a\ b '')"),
            (std::vector<std::string>{"ask", "--file", "my notes", "say \"$HOME\"", "a b", ""}));
  EXPECT_EQ(*words_of("  "), std::vector<std::string>());
  EXPECT_FALSE(words_of("ask 'open"));
}

TEST(Words, SurviveQuoting) {
  const std::vector<std::string> words{"plain", "", "with blank", "quote\"d", "back\\slash", "it's", "line\nend"};
  EXPECT_EQ(*words_of(quoted(words)), words);
}

}  // namespace
}  // namespace kf
