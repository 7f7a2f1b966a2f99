// SPDX-License-Identifier: Apache-2.0
#include "model/secret.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <type_traits>

#include "fake_http.h"
#include "folder.h"
#include "model/transcript.h"
#include "os/steady_clock.h"

namespace kf::test {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kKey = "sk-MARKER-8f3a1c";  // in nothing but the header that is sent

template <class T>
concept Printable = requires(std::ostream& out, const T& value) { out << value; };
static_assert(Printable<std::string> && !Printable<Secret>);
static_assert(!std::is_convertible_v<Secret, std::string> && !std::is_convertible_v<Secret, std::string_view>);

TEST(Redactor, TakesOutEveryOccurrence) {
  Redactor redactor;
  redactor.add(Secret(kKey));
  EXPECT_EQ(redactor.clean(std::string(kKey) + " and " + kKey), "[redacted] and [redacted]");
}
TEST(Redactor, LeavesTextAloneForPlaceholderKeys) {
  Redactor redactor;
  redactor.add(Secret(""));
  redactor.add(Secret("none"));
  EXPECT_EQ(redactor.clean("none at all"), "none at all");
}

std::string everything(const Reply& reply) {
  std::string text = reply.text + reply.reasoning + reply.finish_raw + reply.usage.raw_json + reply.model +
                     reply.request_id + reply.request_body;
  for (const std::string& note : reply.notes) {
    text += note;
  }
  return text;
}

// Servers that echo the key in every place where a server can say something.
const std::string kEchoes[] = {
    stream_response(chat_events(std::string("your key is ") + kKey, 3), {{"x-request-id", kKey}}),
    stream_response("data: {\"model\":\"" + std::string(kKey) + "\",\"usage\":{\"prompt_tokens\":1,\"note\":\"" + kKey +
                    "\"},\"choices\":[{\"delta\":{\"content\":\"a\",\"reasoning\":\"" + kKey +
                    "\"},\"finish_reason\":\"" + kKey + "\"}]}\n\n"),
    whole_response(401, "{\"error\":{\"message\":\"Incorrect API key provided: " + std::string(kKey) +
                            "\",\"code\":\"" + kKey + "\"}}"),
    whole_response(401, std::string(880, ' ') + std::string(500, 'x') + kKey),
    whole_response(
        400, std::string(390, 'x') + ' ' + std::string(480, 'y') + kKey + " tail"),  // the cut goes through the key
    whole_response(302, "", "text/html", {{"Location", std::string("https://h/?key=") + kKey}}),
    stream_response(std::string("data: {\"broken ") + kKey + "\n\n"),
    stream_response(std::string("event: error\ndata: {\"error\":\"") + kKey + "\"}\n\n"),
    whole_response(502, std::string("<html>") + kKey + "</html>", "text/html"),
    std::string("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: ") + kKey + "\r\n\r\nhello",
};

TEST(Keys, AreNeverInWhatAModelSaysOrWrites) {
  const Folder folder;
  SteadyClock clock;
  for (const std::string& echo : kEchoes) {
    FaultServer server({[&](Connection& c) {
      c.send(echo);
      c.close();
    }});
    ModelConfig config{.model = "m-1", .base_url = server.url(), .api_key_env = "KF_TEST_KEY"};
    config.timeouts.idle = milliseconds(500);
    config.retry = {.max_retries = 1, .first_delay = milliseconds(1), .longest_delay = milliseconds(1)};
    std::string said;
    ModelHooks hooks{.notice = [&](const std::string& text) { said += text; }, .may_spend = {}};
    Endpoints endpoints;
    auto made = make_model(config, clock, endpoints, hooks, [](const std::string& name) {
      return name == "KF_TEST_KEY" ? std::optional<std::string>(kKey) : std::nullopt;
    });
    ASSERT_TRUE(made) << to_string(made.error());
    const auto model = recorded(std::move(*made), *TranscriptWriter::open(folder / "t.jsonl", clock));
    said += model->description();
    const auto reply = model->ask(small_call(), {});
    said += reply ? everything(*reply) : reply.error().message;
    EXPECT_THAT(said, Not(HasSubstr("MARKER"))) << echo;
    EXPECT_THAT(server.requests().at(0).head, HasSubstr(std::string("Authorization: Bearer ") + kKey));
    EXPECT_THAT(server.requests().at(0).body, Not(HasSubstr("MARKER")));
  }
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path())) {
    const std::string content = content_of(entry.path().string());
    EXPECT_FALSE(content.empty());
    EXPECT_THAT(content, Not(HasSubstr("MARKER"))) << entry.path();
  }
}

TEST(Keys, GoIntoTheHeaderThatWasNamed) {
  SteadyClock clock;
  FaultServer server({[](Connection& c) { c.send(stream_response(chat_events("Hello"))); }});
  ModelConfig config{
      .model = "m-1", .base_url = server.url(), .api_key_env = "KF_TEST_KEY", .api_key_header = "api-key"};
  config.extra_headers = {{"X-Team", "kernels", ""}, {"X-Token", "", "KF_TEST_TOKEN"}};
  Endpoints endpoints;
  const auto model = make_model(config, clock, endpoints, {}, [](const std::string& name) {
    return std::optional<std::string>(name == "KF_TEST_KEY" ? kKey : "t-1");
  });
  ASSERT_TRUE((*model)->ask(small_call(), {}));
  const std::string head = server.requests().at(0).head;
  EXPECT_THAT(head, HasSubstr(std::string("api-key: ") + kKey));
  EXPECT_THAT(head, HasSubstr("X-Team: kernels"));
  EXPECT_THAT(head, HasSubstr("X-Token: t-1"));
  EXPECT_THAT(head, Not(HasSubstr("Authorization")));
}
TEST(ProbeEndpoint, TellsWhatAnswered) {
  SteadyClock clock;
  FaultServer server({[](Connection& c) { c.send(whole_response(200, R"({"data":[{"id":"m-1"}]})")); },
                      [](Connection& c) {
                        c.send(whole_response(401, std::string("{\"error\":{\"message\":\"bad ") + kKey + "\"}}"));
                      }});
  const ModelConfig config{.model = "m-1", .base_url = server.url(), .api_key_env = "KF_TEST_KEY"};
  const auto environment = [](const std::string&) { return std::optional<std::string>(kKey); };
  EXPECT_EQ(probe_endpoint(config, clock, environment), server.url() + "/models answers; it lists m-1");
  const auto refused = probe_endpoint(config, clock, environment);
  ASSERT_FALSE(refused);
  EXPECT_THAT(to_string(refused.error()), HasSubstr("HTTP 401: bad [redacted]"));
  EXPECT_THAT(server.requests().at(0).head, HasSubstr("GET /v1/models HTTP/1.1"));
}

}  // namespace
}  // namespace kf::test
