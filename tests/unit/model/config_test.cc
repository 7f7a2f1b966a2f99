// SPDX-License-Identifier: Apache-2.0
#include "model/config.h"

#include <gmock/gmock.h>

#include <kfactory/values.h>

#include "fake_clock.h"

namespace kf::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

Environment environment(Map<std::string> variables) {
  return [variables = std::move(variables)](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

std::string errors_of(const ModelConfig& config, Map<std::string> variables = {}) {
  FakeClock clock;
  Endpoints endpoints;
  const auto model = make_model(config, clock, endpoints, {}, environment(std::move(variables)));
  return model ? "" : to_string(model.error());
}

TEST(ModelConfig, OfOpenAiNeedsAModelOnly) {
  EXPECT_THAT(validate({.model = "m"}), IsEmpty());
}
TEST(ModelConfig, NamesEachFieldThatIsWrong) {
  const auto wrong = [](auto change) {
    ModelConfig config{.model = "m"};
    change(config);
    const Errors errors = validate(config);
    return errors.size() == 1 ? errors[0].where : "not one error";
  };
  EXPECT_EQ(wrong([](auto& c) { c.model = ""; }), "model");
  EXPECT_EQ(wrong([](auto& c) { c.base_url = "api.example.com/v1"; }), "base_url");
  EXPECT_EQ(wrong([](auto& c) { c.base_url = "https:///v1"; }), "base_url");
  EXPECT_EQ(wrong([](auto& c) { c.base_url = "https://h/v1 x"; }), "base_url");
  EXPECT_EQ(wrong([](auto& c) { c.api_key_header = "api key"; }), "api_key_header");
  EXPECT_EQ(wrong([](auto& c) { c.effort = "High!"; }), "effort");
  EXPECT_EQ(wrong([](auto& c) { c.temperature = 3; }), "temperature");
  EXPECT_EQ(wrong([](auto& c) { c.top_p = -0.1; }), "top_p");
  EXPECT_EQ(wrong([](auto& c) { c.timeouts.idle = {}; }), "timeouts.idle");
  EXPECT_EQ(wrong([](auto& c) { c.retry.max_retries = -1; }), "retry.max_retries");
  EXPECT_EQ(wrong([](auto& c) { c.prices = {{"", 1, 1, {}}}; }), "prices");
  EXPECT_EQ(wrong([](auto& c) { c.extra_headers = {{"a", "b", ""}, {"x\r\ny", "v", ""}}; }), "extra_headers[1].name");
  EXPECT_EQ(wrong([](auto& c) { c.extra_headers = {{"x", "a\r\nb: c", ""}}; }), "extra_headers[0]");
}
TEST(ModelConfig, NeverQuotesWhatMayBeASecret) {
  ModelConfig config{.model = "m", .base_url = "https://user:hunter2@h/v1", .api_key_env = "sk-live-123"};
  const std::string errors = to_string(validate(config));
  EXPECT_THAT(errors, HasSubstr("base_url"));
  EXPECT_THAT(errors, HasSubstr("api_key_env"));
  EXPECT_THAT(errors, Not(HasSubstr("hunter2")));
  EXPECT_THAT(errors, Not(HasSubstr("sk-live")));
}
TEST(ModelConfig, OfOtherProvidersNeedsTheirOwnFieldOnly) {
  EXPECT_EQ(validate({.provider = Provider::kReplay}).at(0).where, "transcript");
  EXPECT_EQ(validate({.provider = Provider::kExchange}).at(0).where, "exchange_folder");
  EXPECT_EQ(validate({.provider = Provider::kCommand}).at(0).where, "command");
}
TEST(ModelConfig, ProvidersHaveNames) {
  for (const Provider provider :
       {Provider::kOpenai, Provider::kAnthropic, Provider::kReplay, Provider::kExchange, Provider::kCommand}) {
    EXPECT_EQ(provider_from_string(to_string(provider)), provider);
  }
  EXPECT_EQ(provider_from_string("gemini"), std::nullopt);
}
TEST(ModelConfig, WaitsLongForSilentModelsByDefault) {
  EXPECT_GE(ModelConfig{}.timeouts.idle, std::chrono::seconds(300));
}

TEST(MakeModel, NeedsAKeyForTheProvidersOwnAddress) {
  EXPECT_THAT(errors_of({.model = "m"}), HasSubstr("OPENAI_API_KEY is not set"));
  EXPECT_THAT(errors_of({.provider = Provider::kAnthropic, .model = "m"}), HasSubstr("ANTHROPIC_API_KEY is not set"));
  EXPECT_EQ(errors_of({.model = "m"}, {{"OPENAI_API_KEY", "sk-1"}}), "");
}
TEST(MakeModel, NeedsNoKeyForAServerOfOnesOwn) {
  EXPECT_EQ(errors_of({.model = "m", .base_url = "http://127.0.0.1:8080/v1"}), "");
}
TEST(MakeModel, NeedsTheKeyThatWasNamed) {
  EXPECT_THAT(errors_of({.model = "m", .base_url = "http://127.0.0.1:8080/v1", .api_key_env = "MY_KEY"}),
              HasSubstr("MY_KEY is not set"));
}
TEST(MakeModel, SendsNoKeyOverPlainHttpToAnotherMachine) {
  ModelConfig config{.model = "m", .base_url = "http://gpu-box:8000/v1"};
  EXPECT_EQ(errors_of(config), "");
  EXPECT_THAT(errors_of(config, {{"OPENAI_API_KEY", "sk-1"}}), HasSubstr("http://"));
  config.key_over_plain_http = true;
  EXPECT_EQ(errors_of(config, {{"OPENAI_API_KEY", "sk-1"}}), "");
  for (const char* const url : {"http://localhost:1/v1", "http://127.0.0.2/v1", "http://[::1]:5/v1"}) {
    EXPECT_EQ(errors_of({.model = "m", .base_url = url}, {{"OPENAI_API_KEY", "sk-1"}}), "") << url;
  }
}
TEST(MakeModel, RefusesAKeyThatWouldSplitTheHeader) {
  const std::string errors = errors_of({.model = "m"}, {{"OPENAI_API_KEY", "sk-1\r\nX: y"}});
  EXPECT_THAT(errors, HasSubstr("OPENAI_API_KEY"));
  EXPECT_THAT(errors, Not(HasSubstr("sk-1")));
}
TEST(MakeModel, NeedsTheVariablesOfExtraHeaders) {
  ModelConfig config{.model = "m", .base_url = "http://localhost/v1"};
  config.extra_headers = {{"X-Team", "", "TEAM_TOKEN"}};
  EXPECT_THAT(errors_of(config), HasSubstr("TEAM_TOKEN"));
  EXPECT_EQ(errors_of(config, {{"TEAM_TOKEN", "t"}}), "");
}
TEST(MakeModel, SaysWhereATranscriptIsMissing) {
  EXPECT_THAT(errors_of({.provider = Provider::kReplay, .transcript = "/nowhere/t.jsonl"}),
              HasSubstr("/nowhere/t.jsonl"));
}
TEST(MakeModel, DescribesTheProvider) {
  FakeClock clock;
  Endpoints endpoints;
  ModelConfig config{.provider = Provider::kAnthropic, .model = "c-1", .base_url = "https://gateway.example/v1/"};
  EXPECT_EQ((*make_model(config, clock, endpoints, {}, environment({{"ANTHROPIC_API_KEY", "k"}})))->description(),
            "anthropic c-1 at https://gateway.example");
}

TEST(Nanodollars, AreReadExactly) {
  EXPECT_EQ(nanodollars_from_text("1.25"), 1'250'000'000);
  EXPECT_EQ(nanodollars_from_text("0.000000001"), 1);
  EXPECT_EQ(nanodollars_from_text("15"), 15'000'000'000);
  for (const char* const text : {"", ".5", "1.", "-1", "1e3", "1.0000000001", "1,5", "$1", "9999999999"}) {
    EXPECT_FALSE(nanodollars_from_text(text)) << text;
  }
}

}  // namespace
}  // namespace kf::test
