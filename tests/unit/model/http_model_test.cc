// SPDX-License-Identifier: Apache-2.0
#include "model/http_model.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "fake_http.h"

// Tries, repairs, waits and counts, without sockets and with a clock turned by hand.

namespace kf::test {
namespace {

using Kind = ModelError::Kind;
using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Canned good(std::string_view text = "Hello, warp 31") {
  return {.body = chat_events(text)};
}
Canned failing(int status, std::string body = "{}", std::vector<std::pair<std::string, std::string>> headers = {}) {
  return {.status = status, .body = std::move(body), .headers = std::move(headers)};
}
Canned broken(HttpFault::Kind kind, std::string body = "", bool sent = true, int status = 200) {
  return {.status = status, .body = std::move(body), .fault = HttpFault{kind, "it broke", sent}};
}

TEST(HttpModel, AnswersAtOnce) {
  Bench bench({{.body = chat_events("Hello, warp 31"), .headers = {{"x-request-id", "req-9"}}}});
  const auto reply = bench.ask();
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->text, "Hello, warp 31");
  EXPECT_EQ(reply->finish, Finish::kDone);
  EXPECT_EQ(reply->finish_raw, "stop");
  EXPECT_EQ(reply->model, "m-1");
  EXPECT_EQ(reply->request_id, "req-9");
  EXPECT_EQ(reply->usage.input_tokens, 11);
  EXPECT_EQ(reply->usage.output_tokens, 4);
  EXPECT_EQ(reply->usage.cost_nanodollars, std::nullopt);
  EXPECT_EQ(reply->tries, 1);
  EXPECT_THAT(reply->notes, IsEmpty());
  EXPECT_THAT(reply->request_body, HasSubstr("Write one."));
  EXPECT_THAT(bench.clock.sleeps(), IsEmpty());
  EXPECT_EQ(bench.http->requests()[0].url, "http://127.0.0.1:9/v1/chat/completions");
}
TEST(HttpModel, ReadsADocumentWhereTheServerDoesNotStream) {
  Bench bench(
      {{.body =
            R"({"id":"x","model":"m-2","choices":[{"index":0,"message":{"role":"assistant","content":"Hi","reasoning_content":"r"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":1}})"}});
  const auto reply = bench.ask();
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->text, "Hi");
  EXPECT_EQ(reply->reasoning, "r");
  EXPECT_EQ(reply->usage.output_tokens, 1);
}
TEST(HttpModel, TakesThoughtsOutOfTheText) {
  Bench bench({good("\n<think>\n```cuda\nbad\n```</think>\n\nHello")});
  const auto reply = bench.ask();
  EXPECT_EQ(reply->text, "Hello");
  EXPECT_EQ(reply->reasoning, "\n```cuda\nbad\n```");
}
TEST(HttpModel, TakesUnendedThoughtsForNoAnswer) {
  const auto reply = Bench({good("<think>on and on")}).ask();
  EXPECT_EQ(reply->text, "");
  EXPECT_EQ(reply->reasoning, "on and on");
}
TEST(HttpModel, RetriesWithGrowingDelays) {
  Bench bench({failing(500), broken(HttpFault::Kind::kConnect, "", false, 0), failing(503), good()});
  const auto reply = bench.ask();
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->tries, 4);
  EXPECT_THAT(bench.clock.sleeps(), ElementsAre(milliseconds(500), milliseconds(1000), milliseconds(2000)));
  EXPECT_EQ(reply->usage.retried_tokens, 0);  // none of them reached the model
}
TEST(HttpModel, GivesUpAfterItsRetriesAndSaysSo) {
  Bench bench({failing(500, R"({"error":{"message":"boom"}})")});
  const auto reply = bench.ask();
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().kind, Kind::kServer);
  EXPECT_EQ(reply.error().message, "HTTP 500: boom (7 tries)");
  EXPECT_EQ(bench.http->requests().size(), 7u);
}
TEST(HttpModel, AsksASilentServerThriceAtMost) {
  Bench bench({broken(HttpFault::Kind::kTimeout)});
  EXPECT_EQ(bench.ask().error().kind, Kind::kTimeout);
  EXPECT_EQ(bench.http->requests().size(), 3u);
}
TEST(HttpModel, NeverRetriesASpentQuota) {
  Bench bench(
      {failing(429, R"({"error":{"message":"pay","type":"insufficient_quota"}})", {{"retry-after", "1"}}), good()});
  const auto reply = bench.ask();
  EXPECT_EQ(reply.error().kind, Kind::kQuota);
  EXPECT_FALSE(reply.error().run_can_go_on);
  EXPECT_EQ(bench.http->requests().size(), 1u);
}
TEST(HttpModel, WaitsAsLongAsTheServerAsks) {
  Bench bench({failing(429, "{}", {{"retry-after", "7"}}), good()});
  EXPECT_TRUE(bench.ask());
  EXPECT_THAT(bench.clock.sleeps(), ElementsAre(milliseconds(7000)));
  EXPECT_THAT(bench.notices, IsEmpty());
}
TEST(HttpModel, TellsOfALongPause) {
  Bench bench({failing(429, R"({"error":{"message":"slow down"}})", {{"retry-after", "720"}}), good()});
  EXPECT_TRUE(bench.ask());
  EXPECT_THAT(bench.notices, ElementsAre(HasSubstr("pause of 12 min")));
}
TEST(HttpModel, RefusesToWaitForDays) {
  Bench bench({failing(429, "{}", {{"retry-after", "86400"}}), good()});
  const auto reply = bench.ask();
  EXPECT_EQ(reply.error().kind, Kind::kRateLimit);
  EXPECT_FALSE(reply.error().run_can_go_on);
  EXPECT_THAT(reply.error().message, HasSubstr("1440 min"));
  EXPECT_THAT(bench.clock.sleeps(), IsEmpty());
}
TEST(HttpModel, ARateLimitSeenByOneHoldsBackAll) {
  Bench bench({failing(429, "{}", {{"retry-after", "30"}}), good()});
  bench.config.retry.max_retries = 0;
  bench.restart();
  const auto first = bench.ask();
  EXPECT_EQ(first.error().kind, Kind::kRateLimit);
  bench.limiter->hold_until(bench.clock.now() + milliseconds(900));  // as another agent's 429 does
  EXPECT_TRUE(bench.ask());
  EXPECT_THAT(bench.clock.sleeps(), ElementsAre(milliseconds(900)));
}
TEST(HttpModel, SharesItsOwnRateLimitThroughTheLimiter) {
  Bench bench({failing(429, "{}", {{"retry-after", "30"}}), good()});
  milliseconds seen{0};
  bench.clock.during_sleep = [&] { seen = bench.limiter->wait_from(bench.clock.now() - milliseconds(30'000)); };
  EXPECT_TRUE(bench.ask());
  EXPECT_EQ(seen, milliseconds(30'000));
}
TEST(HttpModel, DoesNotRetryOnceOutputHasStreamed) {
  for (const auto& canned :
       {broken(HttpFault::Kind::kReset, chat_event("Hello, warp")),
        broken(HttpFault::Kind::kTimeout, chat_event("Hello, warp")), Canned{.body = chat_event("Hello, warp")},
        Canned{.body = chat_event("Hello, warp") + "data: {\"x\n\n"},
        Canned{.body = chat_event("Hello, warp") + "data: {\"error\":{\"message\":\"m\",\"code\":503}}\n\n"}}) {
    Bench bench({canned, good()});
    const auto reply = bench.ask();
    ASSERT_FALSE(reply);
    EXPECT_EQ(bench.http->requests().size(), 1u) << reply.error().message;
    EXPECT_EQ(reply.error().spent.estimated_output_tokens, 3);  // "Hello, warp" is 11 bytes
    EXPECT_EQ(reply.error().spent.estimated_input_tokens, 10);
    EXPECT_TRUE(reply.error().run_can_go_on);
  }
}
TEST(HttpModel, RetriesABrokenStreamWithoutOutputAndCountsIt) {
  Bench bench({broken(HttpFault::Kind::kReset, ": ping\n\n"), good()});
  const auto reply = bench.ask();
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->tries, 2);
  EXPECT_EQ(reply->usage.retried_tokens, 10);  // the prompt had reached the model
}
TEST(HttpModel, CallsATruncatedAnswerAProtocolError) {
  const auto reply = Bench({Canned{.body = chat_event("Hello")}}).ask();
  EXPECT_EQ(reply.error().kind, Kind::kProtocol);
  EXPECT_THAT(reply.error().message, HasSubstr("without a finish reason"));
}
TEST(HttpModel, TakesAFinishedAnswerEvenIfTheConnectionBreaksThen) {
  std::string body = chat_events("Hello");
  body = body.substr(0, body.find("data: "
                                  "{\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":"
                                  "\"m-1\",\"choices\":[],"));
  const auto reply = Bench({broken(HttpFault::Kind::kReset, body)}).ask();
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->text, "Hello");
  EXPECT_EQ(reply->usage.output_tokens, std::nullopt);
  EXPECT_EQ(reply->usage.estimated_output_tokens, 2);
  EXPECT_EQ(reply->notes.size(), 2u);
}
TEST(HttpModel, TakesDoneForAFinishIfThereIsText) {
  const auto reply = Bench({Canned{.body = chat_event("Hello") + "data: [DONE]\n\n"}}).ask();
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->finish, Finish::kUnknown);
}
TEST(HttpModel, RepairsARefusedFieldAndRemembersIt) {
  Bench bench(
      {failing(
           400,
           R"({"error":{"message":"Unsupported parameter","param":"max_completion_tokens","code":"unsupported_parameter"}})"),
       failing(400, R"({"error":{"message":"Unrecognized request argument supplied: stream_options"}})"), good()});
  ASSERT_TRUE(bench.ask());
  ASSERT_TRUE(bench.ask());
  const auto requests = bench.http->requests();
  ASSERT_EQ(requests.size(), 4u);
  EXPECT_EQ(nlohmann::json::parse(requests[2].body), nlohmann::json::parse(requests[3].body));
  EXPECT_THAT(requests[3].body, HasSubstr(R"({"max_tokens":500)"));
  EXPECT_THAT(requests[3].body, ::testing::Not(HasSubstr("stream_options")));
  EXPECT_EQ(bench.notices.size(), 2u);
  EXPECT_THAT(bench.clock.sleeps(), IsEmpty());
}
TEST(HttpModel, StopsRepairingWhenBothNamesAreRefused) {
  Bench bench({failing(400, R"({"error":{"message":"no","param":"max_completion_tokens"}})"),
               failing(400, R"({"error":{"message":"no","param":"max_tokens"}})")});
  EXPECT_EQ(bench.ask().error().kind, Kind::kBadRequest);
  EXPECT_EQ(bench.http->requests().size(), 2u);
}
TEST(HttpModel, AsksNothingOnceTheBudgetIsSpent) {
  Bench bench({good()});
  bench.may_spend = false;
  const auto answer = bench.ask();
  EXPECT_EQ(answer.error().kind, Kind::kBudget);
  EXPECT_FALSE(answer.error().run_can_go_on);
  EXPECT_THAT(bench.http->requests(), IsEmpty());
}
TEST(HttpModel, ChecksTheBudgetBeforeEveryTry) {
  Bench bench({failing(500), good()});
  bench.clock.during_sleep = [&] { bench.may_spend = false; };
  EXPECT_EQ(bench.ask().error().kind, Kind::kBudget);
  EXPECT_EQ(bench.http->requests().size(), 1u);
}
TEST(HttpModel, TellsTheBudgetWhatTheTriesBeforeHaveUsed) {
  ModelConfig config;
  config.prices = {{"m-*", 1'000'000'000, 1'000'000'000, std::nullopt}};
  Bench bench({broken(HttpFault::Kind::kReset, ": ping\n\n"), good()}, config);
  ASSERT_TRUE(bench.ask());
  ASSERT_EQ(bench.asked_with.size(), 2u);
  EXPECT_EQ(bench.asked_with[0].estimated_input_tokens, 0);
  EXPECT_GT(bench.asked_with[1].estimated_input_tokens, 0) << "the server had taken the prompt";
  EXPECT_GT(bench.asked_with[1].cost_nanodollars.value_or(0), 0);
}
TEST(HttpModel, StopsInsteadOfWaiting) {
  for (const auto& canned : {failing(500), failing(429, "{}", {{"retry-after", "60"}})}) {
    Bench bench({canned, good()});
    std::stop_source stop;
    bench.clock.during_sleep = [&] { stop.request_stop(); };
    EXPECT_EQ(bench.ask(stop.get_token()).error().kind, Kind::kCancelled);
    EXPECT_EQ(bench.http->requests().size(), 1u);
  }
}
TEST(HttpModel, DoesNotAskAfterAStop) {
  Bench bench({good()});
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(bench.ask(stop.get_token()).error().kind, Kind::kCancelled);
  EXPECT_THAT(bench.http->requests(), IsEmpty());
}
TEST(HttpModel, SaysWhatCannotWorkForTheWholeRun) {
  EXPECT_FALSE(Bench({failing(401)}).ask().error().run_can_go_on);
  EXPECT_FALSE(Bench({failing(404)}).ask().error().run_can_go_on);
  EXPECT_FALSE(Bench({broken(HttpFault::Kind::kUnavailable, "", false, 0)}).ask().error().run_can_go_on);
  EXPECT_FALSE(Bench({broken(HttpFault::Kind::kTls, "", false, 0)}).ask().error().run_can_go_on);
  EXPECT_TRUE(Bench({failing(400, R"({"error":{"code":"context_length_exceeded"}})")}).ask().error().run_can_go_on);
}
TEST(HttpModel, NamesTheTargetOfARedirect) {
  const auto reply = Bench({failing(308, "", {{"location", "https://other.example/v1"}})}).ask();
  EXPECT_EQ(reply.error().kind, Kind::kBadRequest);
  EXPECT_THAT(reply.error().message, HasSubstr("redirects to https://other.example/v1"));
}
TEST(HttpModel, SaysThatAWebPageIsNoAnswer) {
  const auto reply =
      Bench({Canned{.body = "<html>Log in</html>", .headers = {{"content-type", "text/html; charset=utf-8"}}}}).ask();
  EXPECT_EQ(reply.error().kind, Kind::kProtocol);
  EXPECT_THAT(reply.error().message, HasSubstr("base_url"));
}
TEST(HttpModel, WarnsOfACutPrompt) {
  Bench bench({{.body = chat_events("Hello")}});
  ModelCall call = small_call();
  call.prefix = std::string(40'000, 'x');
  const auto reply = bench.model->ask(call, {});
  ASSERT_EQ(reply->notes.size(), 1u);
  EXPECT_THAT(reply->notes[0], HasSubstr("counted 11 prompt tokens where about 10007 were sent"));
  EXPECT_EQ(bench.notices.size(), 1u);
  EXPECT_TRUE(bench.model->ask(call, {}));
  EXPECT_EQ(bench.notices.size(), 1u);  // once is enough
}
TEST(HttpModel, PricesWhatItKnowsThePriceOf) {
  ModelConfig config;
  config.prices = {{"m-*", 1'000'000'000, 2'000'000'000, {}}};
  EXPECT_EQ(Bench({good()}, config).ask()->usage.cost_nanodollars, 11 * 1000 + 4 * 2000);
}
TEST(HttpModel, DescribesItselfWithoutTheQuery) {
  EXPECT_EQ(Bench({good()}).model->description(), "openai m-1 at http://127.0.0.1:9/v1");
}
TEST(EndpointUrl, KeepsTheQueryAtTheEnd) {
  EXPECT_EQ(endpoint_url("https://h/v1/", "/chat/completions"), "https://h/v1/chat/completions");
  EXPECT_EQ(endpoint_url("https://h/openai/deployments/d?api-version=1", "/chat/completions"),
            "https://h/openai/deployments/d/chat/completions?api-version=1");
}
TEST(MessagesModel, AnswersFromItsOwnStream) {
  ModelConfig config{.provider = Provider::kAnthropic, .model = "c-1"};
  Bench bench(
      {Canned{.body = "event: message_start\ndata: "
                      "{\"type\":\"message_start\",\"message\":{\"model\":\"c-1\",\"usage\":{\"input_tokens\":3,"
                      "\"output_tokens\":1}}}\n\n"
                      "event: content_block_delta\ndata: "
                      "{\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"Hi\"}}\n\n"
                      "event: message_delta\ndata: "
                      "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_"
                      "tokens\":2}}\n\n"
                      "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"}},
      config);
  const auto reply = bench.ask();
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->text, "Hi");
  EXPECT_EQ(reply->usage.output_tokens, 2);
  EXPECT_EQ(bench.http->requests()[0].url, "http://127.0.0.1:9/v1/v1/messages");
}
TEST(MessagesModel, RetriesAnOverloadedStreamWithoutOutput) {
  ModelConfig config{.provider = Provider::kAnthropic, .model = "c-1"};
  Bench bench(
      {Canned{.body = "event: error\ndata: "
                      "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n"}},
      config);
  EXPECT_EQ(bench.ask().error().kind, Kind::kServer);
  EXPECT_EQ(bench.http->requests().size(), 7u);
}
TEST(HttpModel, SharesWhatItLearntBetweenThreads) {
  Bench bench({failing(400, R"({"error":{"message":"no","param":"stream_options"}})"), good()});
  std::vector<std::jthread> threads;
  std::atomic<int> answered = 0;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] { answered += bench.ask().has_value() ? 1 : 0; });
  }
  threads.clear();
  EXPECT_EQ(answered, 8);
  EXPECT_EQ(bench.notices.size(), 1u);
}

}  // namespace
}  // namespace kf::test
