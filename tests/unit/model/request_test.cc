// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "fake_http.h"

// What is sent, byte for byte, and how a refused field is left out.

namespace kf::test {
namespace {

using nlohmann::json;

ModelConfig chat_config() {
  return {.model = "m-1"};
}
ModelConfig messages_config() {
  return {.provider = Provider::kAnthropic, .model = "c-1"};
}

json chat_body(const ModelConfig& config, const Quirks& quirks = {}, const ModelCall& call = small_call()) {
  return json::parse(openai_chat_dialect(config)->request(call, quirks).body);
}

TEST(ChatRequest, SendsTheFewestFields) {
  const WireRequest request = openai_chat_dialect(chat_config())->request(small_call(), {});
  EXPECT_EQ(request.path, "/chat/completions");
  EXPECT_EQ(
      request.body,
      R"({"max_completion_tokens":500,"messages":[{"content":"You write kernels.","role":"system"},)"
      R"({"content":"The task.\n\nWrite one.","role":"user"}],"model":"m-1","stream":true,"stream_options":{"include_usage":true}})");
}
TEST(ChatRequest, SendsWhatTheUserSet) {
  ModelConfig config = chat_config();
  config.effort = "high";
  config.temperature = 0.5;
  config.top_p = 1;
  config.prompt_cache_key = "run-1";
  const json body = chat_body(config);
  EXPECT_EQ(body["reasoning_effort"], "high");
  EXPECT_EQ(body["temperature"], 0.5);
  EXPECT_EQ(body["top_p"], 1.0);
  EXPECT_EQ(body["prompt_cache_key"], "run-1");
}
TEST(ChatRequest, LeavesOutWhatTheServerRefused) {
  ModelConfig config = chat_config();
  config.effort = "high";
  config.temperature = 0.5;
  const json body = chat_body(config, {.output_limit = Quirks::OutputLimit::kMaxTokens,
                                       .system_role = Quirks::SystemRole::kDeveloper,
                                       .stream_options = false,
                                       .effort = false,
                                       .temperature = false});
  EXPECT_EQ(body.dump(), R"({"max_tokens":500,"messages":[{"content":"You write kernels.","role":"developer"},)"
                         R"({"content":"The task.\n\nWrite one.","role":"user"}],"model":"m-1","stream":true})");
}
TEST(ChatRequest, MergesInstructionsWhereNoRoleTakesThem) {
  const json body = chat_body(chat_config(), {.system_role = Quirks::SystemRole::kUser});
  ASSERT_EQ(body["messages"].size(), 1u);
  EXPECT_EQ(body["messages"][0]["content"], "You write kernels.\n\nThe task.\n\nWrite one.");
}
TEST(ChatRequest, HasNoEmptyMessage) {
  ModelCall call = small_call();
  call.system.clear();
  call.prefix.clear();
  EXPECT_EQ(chat_body(chat_config(), {}, call)["messages"].dump(), R"([{"content":"Write one.","role":"user"}])");
}
TEST(ChatRequest, MakesInvalidUtf8Sendable) {
  ModelCall call = small_call();
  call.prompt = "log: \xFF";
  EXPECT_EQ(chat_body(chat_config(), {}, call)["messages"][1]["content"], "The task.\n\nlog: \uFFFD");
}
TEST(ChatRequest, CanBeUnstreamed) {
  ModelConfig config = chat_config();
  config.stream = false;
  EXPECT_FALSE(chat_body(config).contains("stream"));
  EXPECT_FALSE(chat_body(config).contains("stream_options"));
}

TEST(MessagesRequest, MarksThePrefixForTheCacheAndSamplesNothing) {
  const WireRequest request = anthropic_messages_dialect(messages_config())->request(small_call(), {});
  EXPECT_EQ(request.path, "/v1/messages");
  ASSERT_EQ(request.headers.size(), 1u);
  EXPECT_EQ(request.headers[0].name + ": " + request.headers[0].value, "anthropic-version: 2026-10-21");
  EXPECT_EQ(
      request.body,
      R"({"max_tokens":500,"messages":[{"content":[{"cache_control":{"type":"ephemeral"},"text":"The task.","type":"text"},)"
      R"({"text":"Write one.","type":"text"}],"role":"user"}],"model":"c-1","stream":true,"system":"You write kernels."})");
}
TEST(MessagesRequest, PutsEffortIntoOutputConfig) {
  ModelConfig config = messages_config();
  config.effort = "low";
  EXPECT_EQ(json::parse(anthropic_messages_dialect(config)->request(small_call(), {}).body)["output_config"]["effort"],
            "low");
}

std::optional<Dialect::Repair> repair(std::string message, std::string param = "", const Quirks& quirks = {},
                                      ModelConfig config = chat_config()) {
  config.effort = "high";
  config.temperature = 0.5;
  return openai_chat_dialect(config)->repair(
      {.status = 400, .message = std::move(message), .type = "", .code = "", .param = std::move(param)}, quirks);
}

TEST(ChatRepair, SwapsTheNamesOfTheOutputLimitOnce) {
  const auto first = repair("Unsupported parameter: 'max_completion_tokens'", "max_completion_tokens");
  ASSERT_TRUE(first);
  EXPECT_EQ(first->quirks.output_limit, Quirks::OutputLimit::kMaxTokens);
  EXPECT_THAT(first->lesson, ::testing::HasSubstr("max_tokens is sent instead"));
  EXPECT_FALSE(repair("Unsupported parameter: 'max_tokens'", "max_tokens", first->quirks));
}
TEST(ChatRepair, DoesNotSwapWhenTheValueIsTheProblem) {
  EXPECT_FALSE(repair("max_completion_tokens is too large: 500. This model supports at most 100 completion tokens",
                      "max_completion_tokens"));
}
TEST(ChatRepair, FindsTheParameterInOldServersWords) {  // vLLM 0.5
  const auto found = repair(
      "[{'type': 'extra_forbidden', 'loc': ('body', 'stream_options'), 'msg': 'Extra inputs are not permitted'}]");
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->quirks.stream_options);
  EXPECT_TRUE(found->quirks.stream);
}
TEST(ChatRepair, DropsOneFieldAtATime) {
  EXPECT_FALSE(repair("", "temperature")->quirks.temperature);
  EXPECT_FALSE(repair("", "reasoning_effort")->quirks.effort);
  EXPECT_FALSE(repair("", "stream_options.include_usage")->quirks.stream_options);
  EXPECT_FALSE(repair("streaming is off: stream must not be set", "stream")->quirks.stream);
}
TEST(ChatRepair, TriesDeveloperThenTheUserMessage) {
  const auto first =
      repair("Unsupported value: 'messages[0].role' does not support 'system' with this model.", "messages[0].role");
  ASSERT_TRUE(first);
  EXPECT_EQ(first->quirks.system_role, Quirks::SystemRole::kDeveloper);
  const auto second = repair("Unexpected role 'developer'", "", first->quirks);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->quirks.system_role, Quirks::SystemRole::kUser);
  EXPECT_FALSE(repair("System role not supported", "", second->quirks));
}
TEST(ChatRepair, LeavesAloneWhatItDidNotSend) {
  EXPECT_FALSE(repair("Unknown parameter: 'seed'", "seed"));
  EXPECT_FALSE(repair("", "top_p"));
  EXPECT_FALSE(repair("max_tokens_to_sample is not allowed"));
  EXPECT_FALSE(repair("Invalid model"));
}

}  // namespace
}  // namespace kf::test
