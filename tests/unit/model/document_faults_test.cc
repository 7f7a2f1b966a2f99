// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "fake_http.h"
#include "model_over_curl.h"
#include "os/steady_clock.h"
#include "tests/fakes/fault_server.h"

// As fault_table_test.cc, for answers that are asked for, or come, as one document instead of a stream.

namespace kf::test {
namespace {

using Kind = ModelError::Kind;
using std::chrono::milliseconds;

const std::string kDocument =
    R"({"id":"x","model":"m-1","choices":[{"index":0,"message":{"role":"assistant","content":"Hello"},"finish_reason":"stop"}],)"
    R"("usage":{"prompt_tokens":11,"completion_tokens":2,"total_tokens":13}})";
const std::string kHead =
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(kDocument.size()) +
    "\r\n\r\n";
const std::string kHalf = kHead + kDocument.substr(0, kDocument.size() / 2);

Script sends(std::string bytes) {
  return [bytes](Connection& c) { c.send(bytes); };
}
Script sends_and(std::string bytes, void (Connection::*then)()) {
  return [bytes, then](Connection& c) {
    c.send(bytes);
    c.pause(20);  // so that the peer reads before a reset throws its buffer away
    (c.*then)();
  };
}
std::string with_choice(const std::string& choice) {
  return whole_response(200, R"({"choices":[)" + choice + R"(],"usage":{"prompt_tokens":11,"completion_tokens":2}})");
}

struct Row {
  const char* name;
  Script fault;
  std::optional<Kind> kind;  // nullopt: the fault is survived
  int tries;                 // requests that the server saw
};

const Row kRows[] = {
    {"Whole", sends(kHead + kDocument), {}, 1},
    {"ByteByByte", [](Connection& c) { c.send_in_pieces(kHead + kDocument, 1); }, {}, 1},
    {"WithoutLength",
     sends_and("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n" + kDocument,
               &Connection::close),
     {},
     1},
    {"Chunked",
     sends("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n" +
           chunk(kDocument.substr(0, 9)) + chunk(kDocument.substr(9)) + std::string(kLastChunk)),
     {},
     1},
    {"AsAStreamAllTheSame", sends(stream_response(chat_events("Hello"))), {}, 1},
    {"AfterInterimAnswers",
     sends("HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + kHead + kDocument),
     {},
     1},
    {"ResetInBody", sends_and(kHalf, &Connection::reset), {}, 2},
    {"ClosedInBody", sends_and(kHalf, &Connection::close), {}, 2},
    {"HalfClosedInBody", sends_and(kHalf, &Connection::half_close), {}, 2},
    {"HalfClosedAfterHead", sends_and(kHead, &Connection::half_close), {}, 2},
    {"HalfClosedBeforeHead", sends_and("", &Connection::half_close), {}, 2},
    {"StallInHeaders", sends_and("HTTP/1.1 200 OK\r\nContent-Ty", &Connection::stall), {}, 2},
    {"StallInBody", sends_and(kHalf, &Connection::stall), {}, 2},
    {"StallAfterBody", sends_and(kHead + kDocument, &Connection::stall), {}, 1},
    {"NotJson", sends(whole_response(200, "Hello")), {}, 2},
    {"CutJson", sends(whole_response(200, kDocument.substr(0, kDocument.size() - 1))), {}, 2},
    {"TwoDocuments", sends(whole_response(200, kDocument + kDocument)), {}, 2},
    {"NestedTooDeep", sends(whole_response(200, std::string(100'000, '['))), {}, 2},
    {"Empty", sends(whole_response(200, "")), {}, 2},
    {"NoContent", sends("HTTP/1.1 204 No Content\r\n\r\n"), {}, 2},
    {"NoChoices", sends(whole_response(200, R"({"choices":[]})")), {}, 2},
    {"ChoicesOfTheWrongType", sends(whole_response(200, R"({"choices":{"message":7}})")), {}, 2},
    {"ErrorWithStatus200", sends(whole_response(200, R"({"error":{"message":"overloaded","code":503}})")), {}, 2},
    {"PageOfAProxy", sends(whole_response(200, "<html>Please log in</html>", "text/html")), Kind::kProtocol, 1},
    {"FinishMissing", sends(with_choice(R"({"message":{"content":"Hello"}})")), {}, 1},  // whole all the same
    {"Refused", sends(whole_response(403, R"({"error":{"message":"not for you"}})")), Kind::kAuthentication, 1},
    {"NotFoundAsText", sends(whole_response(404, "404 page not found", "text/plain")), Kind::kBadRequest, 1},
    {"ServerErrorAsPage", sends(whole_response(500, "<html><title>500</title></html>", "text/html")), {}, 2},
};

void PrintTo(const Row& row, std::ostream* out) {
  *out << row.name;
}

HttpModel model_at(const std::string& url, Clock& clock) {
  ModelConfig config{.model = "m-1"};
  config.stream = false;
  config.timeouts = {.connect = milliseconds(200), .idle = milliseconds(250), .total = milliseconds(4'000)};
  config.retry = {.max_retries = 2, .first_delay = milliseconds(10), .longest_delay = milliseconds(10)};
  return model_over_curl(config, url, clock);
}

class DocumentFaults : public ::testing::TestWithParam<Row> {};

TEST_P(DocumentFaults, EndAsTheyShould) {
  const Row& row = GetParam();
  SteadyClock clock;
  FaultServer server({row.fault, sends(kHead + kDocument)});
  HttpModel model = model_at(server.url(), clock);
  const auto start = clock.now();
  const auto reply = model.ask(small_call(), {});
  if (row.kind) {
    ASSERT_FALSE(reply) << reply->text;
    EXPECT_EQ(to_string(reply.error().kind), to_string(*row.kind)) << reply.error().message;
  } else {
    ASSERT_TRUE(reply) << reply.error().message;
    EXPECT_EQ(reply->text, "Hello");
    EXPECT_EQ(reply->usage.input_tokens, 11);
    EXPECT_EQ(reply->tries, row.tries);
  }
  EXPECT_EQ(server.requests().size(), static_cast<std::size_t>(row.tries));
  EXPECT_THAT(server.requests().at(0).body, ::testing::Not(::testing::HasSubstr("\"stream\":true")));
  EXPECT_LT(clock.now() - start, milliseconds(2'500));
}
INSTANTIATE_TEST_SUITE_P(Fault, DocumentFaults, ::testing::ValuesIn(kRows),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(DeadEndpoint, ThatNeverTakesAConnectionEndsTheRunAtTheConnectTimeout) {
  SteadyClock clock;
  const FullListener listener;
  HttpModel model = model_at(listener.url(), clock);
  const auto start = clock.now();
  const auto reply = model.ask(small_call(), {});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().kind, Kind::kTimeout);
  EXPECT_FALSE(reply.error().run_can_go_on) << "nothing was ever sent: the next attempt would fare no better";
  EXPECT_THAT(reply.error().message, ::testing::HasSubstr("connect timeout"));
  EXPECT_THAT(reply.error().message, ::testing::HasSubstr(listener.url()));
  EXPECT_LT(clock.now() - start, milliseconds(4'000));
}

}  // namespace
}  // namespace kf::test
