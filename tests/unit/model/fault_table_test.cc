// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "fake_http.h"
#include "model_over_curl.h"
#include "os/steady_clock.h"
#include "tests/fakes/fault_server.h"

// Fault by phase over real sockets: what the call ends as, how often it was tried, what it cost, how long it took.

namespace kf::test {
namespace {

using Kind = ModelError::Kind;
using std::chrono::milliseconds;

const std::string kText = "Hello, warp 31. \xC2\xB5\xE2\x89\xA4\xF0\x9F\x9A\x80";
const std::string kQuota =
    R"({"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}})";
const std::string kLoading = R"({"error":{"code":503,"message":"Loading model","type":"unavailable_error"}})";
const std::string kPart = chat_event("Hello, warp");  // 3 tokens

void good(Connection& c) {
  c.send(stream_response(chat_events(kText)));
}
Script sends(std::string bytes) {
  return [bytes](Connection& c) { c.send(bytes); };
}
Script sends_and_resets(std::string bytes) {
  return [bytes](Connection& c) {
    c.send(bytes);
    c.pause(20);  // so that the peer reads before the reset throws its buffer away
    c.reset();
  };
}
Script sends_and_closes(std::string bytes) {
  return [bytes](Connection& c) {
    c.send(bytes);
    c.close();
  };
}
Script sends_and_stalls(std::string bytes) {
  return [bytes](Connection& c) {
    c.send(bytes);
    c.stall();
  };
}

struct Row {
  const char* name;
  Script fault;
  std::optional<Kind> kind;        // nullopt: the fault is survived
  int tries;                       // requests that the server saw
  std::int64_t output_tokens = 0;  // that are counted for the error
};

const Row kRows[] = {
    {"ResetBeforeHeaders", [](Connection& c) { c.reset(); }, {}, 2},
    {"ClosedBeforeHeaders", [](Connection& c) { c.close(); }, {}, 2},
    {"ResetInHeaders", sends_and_resets("HTTP/1.1 200 OK\r\nContent-Ty"), {}, 2},
    {"ResetAfterHeaders", sends_and_resets(stream_head()), {}, 2},
    {"ResetAfterPing", sends_and_resets(stream_head() + chunk(": ping\n\n")), {}, 2},
    {"ResetInStream", sends_and_resets(stream_head() + chunk(kPart)), Kind::kProtocol, 1, 3},
    {"ClosedInStream", sends_and_closes(stream_head() + chunk(kPart)), Kind::kProtocol, 1, 3},
    {"ClosedInEvent", sends_and_closes(stream_head() + chunk(kPart + kPart.substr(0, 30))), Kind::kProtocol, 1, 3},
    {"HalfClosedInStream",
     [](Connection& c) {
       c.send(stream_head() + chunk(kPart));
       c.half_close();
       c.stall();
     },
     Kind::kProtocol, 1, 3},
    {"StallBeforeHeaders", [](Connection& c) { c.stall(); }, {}, 2},
    {"StallInStream", sends_and_stalls(stream_head() + chunk(kPart)), Kind::kTimeout, 1, 3},
    {"StallAfterDone", sends_and_stalls(stream_head() + chunk(chat_events(kText))), std::optional<Kind>(), 1},
    {"ContentLengthTooLong",
     sends_and_closes("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 100000\r\n\r\n" + kPart),
     Kind::kProtocol, 1, 3},
    {"ContentLengthTooShort",
     sends_and_closes("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 200\r\n\r\n" +
                      chat_events(kText)),
     std::optional<Kind>(),  // cut before the first word
     2},
    {"ChunkedGarbage", sends_and_closes(stream_head() + "zz!\r\nnonsense"), {}, 2},
    {"ChunkedGarbageInStream", sends_and_closes(stream_head() + chunk(kPart) + "zz!\r\n"), Kind::kProtocol, 1, 3},
    {"NotHttp", sends_and_closes("SSH-2.0-OpenSSH_9.2\r\n"), {}, 2},
    {"Html502", sends(whole_response(502, "<html><title>502 Bad Gateway</title></html>", "text/html")), {}, 2},
    {"RateLimit", sends(whole_response(429, "{}", "application/json", {{"Retry-After", "0.05"}})), {}, 2},
    {"RateLimitInMilliseconds",
     sends(whole_response(429, "{}", "application/json", {{"retry-after-ms", "50"}})),
     {},
     2},
    {"QuotaSpent", sends(whole_response(429, kQuota)), Kind::kQuota, 1},
    {"LoadingModel", sends(whole_response(503, kLoading)), {}, 2},
    {"Unauthorized", sends(whole_response(401, R"({"error":{"message":"bad key"}})")), Kind::kAuthentication, 1},
    {"ContextFull", sends(whole_response(400, R"({"error":{"message":"too long","code":"context_length_exceeded"}})")),
     Kind::kContextFull, 1},
    {"RefusedParameter",
     sends(whole_response(
         400, R"({"error":{"message":"no","param":"max_completion_tokens","code":"unsupported_parameter"}})")),
     {},
     2},
    {"MalformedFirstChunk", sends(stream_response("data: {\"choices\":[{\n\n")), {}, 2},
    {"MalformedLaterChunk", sends(stream_response(kPart + "data: {\"choices\":[{\n\n")), Kind::kProtocol, 1, 3},
    {"ErrorEventFirst",
     sends(stream_response("event: error\ndata: {\"error\":{\"message\":\"x\",\"type\":\"server_error\"}}\n\n")),
     {},
     2},
    {"ErrorEventLater", sends(stream_response(kPart + "event: error\ndata: {\"error\":{\"message\":\"x\"}}\n\n")),
     Kind::kServer, 1, 3},
    {"ErrorObjectLater", sends(stream_response(kPart + "data: {\"error\":{\"message\":\"x\",\"code\":502}}\n\n")),
     Kind::kServer, 1, 3},
    {"ErrorFinish",
     sends(stream_response(kPart + "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"error\"}]}\n\n")),
     Kind::kServer, 1, 3},
    {"ErrorInDocument", sends(whole_response(200, R"({"error":{"message":"x","code":503}})")), {}, 2},
    {"EmptyStream", sends(stream_response("")), {}, 2},
    {"EmptyStreamWithDone", sends(stream_response("data: [DONE]\n\n")), {}, 2},
    {"DoneMissing", sends(stream_response(chat_events(kText).substr(0, chat_events(kText).find("data: [DONE]")))),
     std::optional<Kind>(), 1},
    {"FinishMissing", sends(stream_response(kPart)), Kind::kProtocol, 1, 3},
    {"CutIntoBytes", [](Connection& c) { c.send_in_pieces(stream_response(chat_events(kText)), 1); },
     std::optional<Kind>(), 1},
    {"NoLengthAndNoChunks",
     sends_and_closes("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n" +
                      chat_events(kText)),
     std::optional<Kind>(), 1},
};

void PrintTo(const Row& row, std::ostream* out) {
  *out << row.name;
}

class FaultTable : public ::testing::TestWithParam<Row> {};

TEST_P(FaultTable, EndsAsItShould) {
  const Row& row = GetParam();
  SteadyClock clock;
  FaultServer server({row.fault, good});
  ModelConfig config{.model = "m-1"};
  config.timeouts = {.connect = milliseconds(1'000), .idle = milliseconds(250), .total = milliseconds(4'000)};
  config.retry = {.max_retries = 2, .first_delay = milliseconds(10), .longest_delay = milliseconds(10)};
  HttpModel model = model_over_curl(config, server.url(), clock);
  const auto start = clock.now();
  const auto reply = model.ask(small_call(), {});
  const auto time = clock.now() - start;
  if (row.kind) {
    ASSERT_FALSE(reply) << reply->text;
    EXPECT_EQ(to_string(reply.error().kind), to_string(*row.kind)) << reply.error().message;
    EXPECT_EQ(reply.error().spent.estimated_output_tokens, row.output_tokens) << reply.error().message;
  } else {
    ASSERT_TRUE(reply) << reply.error().message;
    EXPECT_EQ(reply->text, kText);
    EXPECT_EQ(reply->tries, row.tries);
    EXPECT_EQ(reply->usage.input_tokens, 11);
  }
  EXPECT_EQ(server.requests().size(), static_cast<std::size_t>(row.tries));
  EXPECT_LT(time, milliseconds(2'500));
}
INSTANTIATE_TEST_SUITE_P(Fault, FaultTable, ::testing::ValuesIn(kRows),
                         [](const auto& test) { return std::string(test.param.name); });

// A line without end must neither be collected nor waited for.
TEST(Faults, AGigabyteLineIsDroppedEarly) {
  SteadyClock clock;
  std::atomic<std::int64_t> sent = 0;
  FaultServer server({[&](Connection& c) {
    c.send(stream_head() + chunk("data: "));
    const std::string block = chunk(std::string(1 << 20, 'x'));
    for (int i = 0; i < 1024 && c.send(block); ++i) {
      sent += 1 << 20;
    }
  }});
  ModelConfig config{.model = "m-1"};
  config.retry.max_retries = 0;
  HttpModel model = model_over_curl(config, server.url(), clock);
  const auto reply = model.ask(small_call(), {});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().kind, Kind::kProtocol);
  EXPECT_LT(sent, 512 << 20);
}

TEST(Faults, ARefusedConnectionIsTriedAgainAndThenEndsTheRun) {
  SteadyClock clock;
  ModelConfig config{.model = "m-1"};
  config.retry = {.max_retries = 2, .first_delay = milliseconds(5), .longest_delay = milliseconds(5)};
  HttpModel model = model_over_curl(config, "http://127.0.0.1:" + std::to_string(unused_port()), clock);
  const auto reply = model.ask(small_call(), {});
  EXPECT_EQ(reply.error().kind, Kind::kUnreachable);
  EXPECT_FALSE(reply.error().run_can_go_on);
  EXPECT_THAT(reply.error().message, ::testing::HasSubstr("(3 tries)"));
}

}  // namespace
}  // namespace kf::test
