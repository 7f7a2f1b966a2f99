// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>

#include "fake_http.h"
#include "model/response_reader.h"

// Streams of real servers' shapes (tests/golden/sse), each with what it must be read as.

namespace kf::test {
namespace {

using ::testing::HasSubstr;

struct Expected {
  const char* file;
  const char* text = "Hello, warp 31\n";
  const char* reasoning = "";
  std::optional<Finish> finish = Finish::kDone;
  std::optional<std::int64_t> input = 20, output = 6;
  const char* error = "";  // part of the error's message; empty: no error
  bool malformed = false, ended = true;
};

const Expected kStreams[] = {
    {.file = "openai"},
    {.file = "azure"},
    {.file = "openrouter"},
    {.file = "openrouter_error",
     .finish = {},
     .input = {},
     .output = {},
     .error = "Provider disconnected",
     .ended = false},
    {.file = "event_error",
     .finish = {},
     .input = {},
     .output = {},
     .error = "The server had an error",
     .ended = false},
    {.file = "finish_error",
     .finish = Finish::kError,
     .input = {},
     .output = {},
     .error = "finish_reason",
     .ended = false},
    {.file = "sglang_empty_finish"},
    {.file = "llamacpp_context",
     .text = "",
     .finish = {},
     .input = {},
     .output = {},
     .error = "available context size",
     .ended = false},
    {.file = "flat_error", .finish = {}, .input = {}, .output = {}, .error = "out of KV cache", .ended = false},
    {.file = "glued"},
    {.file = "vllm_reasoning", .reasoning = "Think ```cuda\nbad\n``` more."},
    {.file = "deepseek_reasoning_content", .reasoning = "Think more."},
    {.file = "crlf"},
    {.file = "cr"},
    {.file = "bom_multiline"},
    {.file = "no_done", .ended = false},
    {.file = "truncated", .finish = {}, .input = {}, .output = {}, .ended = false},
    {.file = "unfinished_event", .input = {}, .output = {}, .ended = false},
    {.file = "done_without_finish", .finish = {}, .input = {}, .output = {}},
    {.file = "refusal", .text = "I cannot do that.", .finish = Finish::kRefused},
    {.file = "length", .finish = Finish::kLength},
    {.file = "content_filter", .finish = Finish::kFiltered, .input = {}, .output = {}},
    {.file = "tool_calls", .text = "", .finish = Finish::kTool},
    {.file = "unknown_finish", .finish = Finish::kUnknown, .input = {}, .output = {}},
    {.file = "continuous_usage"},
    {.file = "unicode", .text = "µ≤∑ 🚀é"},
    {.file = "lone_surrogate", .text = "a\uFFFD\uFFFDb \\ud83d"},
    {.file = "malformed", .finish = {}, .input = {}, .output = {}, .malformed = true, .ended = false},
    {.file = "think_in_text",
     .text = "<think>\nuse smem</think>\n\nHello, warp 31\n"},  // the model takes it out, not the dialect
    {.file = "mistral_parts", .reasoning = "Think."},
    {.file = "usage_missing", .input = {}, .output = {}},
    {.file = "odd_usage", .input = {}, .output = {}},
    {.file = "anthropic", .reasoning = "Think."},
    {.file = "anthropic_max_tokens", .finish = Finish::kLength},
    {.file = "anthropic_refusal", .text = "", .finish = Finish::kRefused, .output = 1},
    {.file = "anthropic_overloaded", .finish = {}, .output = 1, .error = "Overloaded", .ended = false},
    {.file = "anthropic_truncated", .finish = {}, .output = 1, .ended = false},
    {.file = "anthropic_unknown_events", .finish = Finish::kUnknown},
};

void PrintTo(const Expected& expected, std::ostream* out) {
  *out << expected.file;
}

std::string golden(const std::string& name) {
  std::ifstream file(std::string(KF_SOURCE_DIR) + "/tests/golden/sse/" + name + ".sse", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Answer read_cut(const std::string& name, const std::string& bytes, std::size_t cut) {
  const ModelConfig config;
  const auto dialect = name.starts_with("anthropic") ? anthropic_messages_dialect(config) : openai_chat_dialect(config);
  const auto interpreter = dialect->interpreter();
  ResponseReader reader(*interpreter);
  reader.on_head({.status = 200, .headers = {{"content-type", "text/event-stream"}}});
  if (cut == 0) {  // byte by byte
    for (const char& byte : bytes) {
      reader.on_bytes({&byte, 1});
    }
  } else {
    reader.on_bytes(std::string_view(bytes).substr(0, cut));
    reader.on_bytes(std::string_view(bytes).substr(cut));
  }
  reader.finish();
  return interpreter->answer;
}

class GoldenStream : public ::testing::TestWithParam<Expected> {};

TEST_P(GoldenStream, IsReadAsMeant) {
  const Expected& expected = GetParam();
  const std::string bytes = golden(expected.file);
  ASSERT_FALSE(bytes.empty());
  const Answer answer = read_cut(expected.file, bytes, bytes.size());
  EXPECT_EQ(answer.text, expected.text);
  EXPECT_EQ(answer.reasoning, expected.reasoning);
  EXPECT_EQ(answer.finish, expected.finish);
  EXPECT_EQ(answer.usage.input_tokens, expected.input);
  EXPECT_EQ(answer.usage.output_tokens, expected.output);
  EXPECT_EQ(answer.error.has_value(), *expected.error != '\0');
  EXPECT_THAT(answer.error.value_or(ApiError{}).message, HasSubstr(expected.error));
  EXPECT_EQ(!answer.malformed.empty(), expected.malformed);
  EXPECT_EQ(answer.ended, expected.ended);
}

using Events = std::vector<std::pair<std::string, std::string>>;

Events events_cut(std::string_view bytes, std::size_t cut) {
  Events events;
  SseParser parser([&](SseEvent&& event) { events.emplace_back(std::move(event.name), std::move(event.data)); });
  parser.feed(bytes.substr(0, cut));
  parser.feed(bytes.substr(cut));
  return events;
}

TEST_P(GoldenStream, GivesTheSameEventsHoweverItIsCut) {
  const std::string bytes = golden(GetParam().file);
  const Events whole = events_cut(bytes, 0);
  for (std::size_t cut = 1; cut < bytes.size(); ++cut) {
    ASSERT_EQ(events_cut(bytes, cut), whole) << "cut at " << cut;
  }
}

TEST_P(GoldenStream, GivesTheSameAnswerHoweverItIsCut) {
  const Expected& expected = GetParam();
  const std::string bytes = golden(expected.file);
  const Answer whole = read_cut(expected.file, bytes, bytes.size());
  for (std::size_t cut = 0; cut < bytes.size(); cut += 29) {  // 0: into single bytes
    const Answer answer = read_cut(expected.file, bytes, cut);
    ASSERT_EQ(answer.text, whole.text) << "cut at " << cut;
    ASSERT_EQ(answer.reasoning, whole.reasoning) << "cut at " << cut;
    ASSERT_EQ(answer.finish_raw, whole.finish_raw) << "cut at " << cut;
    ASSERT_EQ(answer.usage.raw_json, whole.usage.raw_json) << "cut at " << cut;
    ASSERT_EQ(answer.malformed, whole.malformed) << "cut at " << cut;
    ASSERT_EQ(answer.error.value_or(ApiError{}).message, whole.error.value_or(ApiError{}).message) << "cut at " << cut;
    ASSERT_EQ(answer.ended, whole.ended) << "cut at " << cut;
  }
}

INSTANTIATE_TEST_SUITE_P(Sse, GoldenStream, ::testing::ValuesIn(kStreams),
                         [](const auto& test) { return std::string(test.param.file); });

TEST(GoldenStreams, AreAllInTheTable) {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(KF_SOURCE_DIR) + "/tests/golden/sse")) {
    files += entry.path().extension() == ".sse" ? 1 : 0;
  }
  EXPECT_EQ(files, std::size(kStreams));
}

// Whatever a server sends is read as something; nothing is thrown, and text stays writable.
TEST(GoldenStreams, CanBeDamagedAnywhere) {
  std::mt19937 draw(1);
  for (const Expected& expected : kStreams) {
    const std::string whole = golden(expected.file);
    for (int round = 0; round < 60; ++round) {
      std::string bytes = whole;
      for (std::size_t change = 0; change < 1 + round % 4u; ++change) {
        const std::size_t at = draw() % bytes.size();
        switch (draw() % 4) {
          case 0:
            bytes[at] = static_cast<char>(draw());
            break;
          case 1:
            bytes.erase(at, 1 + draw() % 40);
            break;
          case 2:
            bytes.insert(at, whole.substr(draw() % whole.size(), draw() % 60));
            break;
          default:
            bytes[at] = "{}[]\",:\n\\0e-"[draw() % 13];
            break;
        }
        bytes += bytes.empty() ? "\n" : "";
      }
      const Answer answer = read_cut(expected.file, bytes, 1 + draw() % bytes.size());
      EXPECT_TRUE(answer.text.size() < 2 * bytes.size());
      EXPECT_NO_THROW((void)nlohmann::json(answer.text).dump()) << expected.file << ' ' << round;
    }
  }
}

TEST(ChatUsage, KeepsTheServersWordAndItsParts) {
  const Answer answer = read_cut("openai", golden("openai"), 100);
  EXPECT_EQ(answer.usage.cached_tokens, 8);
  EXPECT_EQ(answer.usage.reasoning_tokens, 2);
  EXPECT_THAT(answer.usage.raw_json, HasSubstr("\"prompt_tokens\":20"));
}
TEST(ChatUsage, TakesOpenRoutersOwnCost) {
  EXPECT_EQ(read_cut("openrouter", golden("openrouter"), 0).usage.cost_nanodollars, 14'250);
}
TEST(MessagesUsage, AddsWhatTheInputCountLeavesOut) {
  const Answer answer = read_cut("anthropic", golden("anthropic"), 0);
  EXPECT_EQ(answer.usage.input_tokens, 5 + 7 + 8);
  EXPECT_EQ(answer.usage.cached_tokens, 8);
  EXPECT_EQ(answer.usage.output_tokens, 6);
  EXPECT_EQ(answer.usage.reasoning_tokens, 2);
}
TEST(MessagesStream, TellsTheCategoryOfARefusal) {
  EXPECT_EQ(read_cut("anthropic_refusal", golden("anthropic_refusal"), 0).finish_raw, "refusal (frontier_llm)");
}

}  // namespace
}  // namespace kf::test
