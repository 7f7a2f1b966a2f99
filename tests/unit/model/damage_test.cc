// SPDX-License-Identifier: Apache-2.0
// Transcripts, error pages, reply files and event streams as networks, disks and people damage them: a value or an
// error with its place, and never anything that could drive a terminal.
#include <gmock/gmock.h>

#include "fake_http.h"
#include "folder.h"
#include "model/api_error.h"
#include "model/exchange_model.h"
#include "model/sse.h"
#include "model/transcript.h"
#include "tests/fakes/damage.h"

namespace kf::test {
namespace {

bool is_one_harmless_line(std::string_view text) {
  return std::ranges::none_of(text, [](unsigned char c) { return c < 32 || c == 127; });
}

TEST(DamagedTranscript, IsRefusedWithTheLineOrReadAsWhatIsLeft) {
  std::string good;
  for (int i = 1; i <= 4; ++i) {
    good += "{\"role\":\"writer\",\"ordinal\":" + std::to_string(i) +
            ",\"text\":\"answer \\u00b5\",\"usage\":{\"input_tokens\":5},\"finish\":\"done\"}\n";
  }
  ASSERT_TRUE(parse_transcript(good, "t.jsonl"));
  Damage damage(3);
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    const auto transcript = parse_transcript(damage(good), "t.jsonl");
    if (transcript) {
      ASSERT_LE(transcript->entries.size(), 8U);
      continue;
    }
    ++refused;
    for (const Error& error : transcript.error()) {
      ASSERT_THAT(error.where, ::testing::StartsWith("t.jsonl"));
      ASSERT_FALSE(error.what.empty());
    }
  }
  EXPECT_GT(refused, 1000);
}

TEST(DamagedErrorPage, BecomesOneHarmlessLine) {
  const std::string pages[] = {
      R"({"error":{"message":"Bad thing","type":"invalid_request_error","param":"max_tokens","code":"unsupported"}})",
      R"({"object":"error","message":"no","code":400})", R"([{"error":{"status":"RESOURCE_EXHAUSTED","message":"m"}}])",
      "<html><title>502 Bad Gateway</title><body>nginx</body></html>", "plain \x1b[31m words"};
  Damage damage(5);
  for (int round = 0; round < 3000; ++round) {
    const int status = round % 3 == 0 ? 400 : round % 3 == 1 ? 429 : 503;
    const ApiError error = read_api_error(status, damage(pages[round % std::size(pages)]));
    const std::string words = describe(error, judge(error, nullptr).kind);
    ASSERT_TRUE(is_one_harmless_line(words)) << words;
    ASSERT_FALSE(words.empty());
  }
}

TEST(DamagedReplyFile, IsTextWhateverItsBytes) {
  Folder folder;
  FakeClock clock;
  const auto model = exchange_model({.folder = folder / "x", .wait = false}, clock);
  clock.utc_ = "2099-01-01T00:00:00Z";
  (void)model->ask(small_call(), {});
  Damage damage(11);
  const std::string good = "---\nkfactory: 1\n---\nThe candidate:\n```cuda\nint x;\n```\n";
  for (int round = 0; round < 200; ++round) {
    write_content(folder / "x/writer-1.reply.md", damage(good));
    const auto reply = model->ask(small_call(), {});
    ASSERT_TRUE(reply || !reply.error().message.empty());
  }
}

TEST(RandomBytes, NeverMakeAnEventLargerThanThemselves) {
  Damage draw(13);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes;
    for (std::uint64_t length = draw.pick(300); length > 0; --length) {
      constexpr std::string_view kLikely = "data: \n\r\nevent:{}[DONE]\xef\xbb\xbf";
      bytes += draw.pick(4) == 0 ? static_cast<char>(draw.pick(256)) : kLikely[draw.pick(kLikely.size())];
    }
    std::size_t total = 0;
    SseParser parser([&](SseEvent&& event) { total += event.name.size() + event.data.size(); });
    parser.feed(bytes);
    ASSERT_LE(total, bytes.size());
  }
}

}  // namespace
}  // namespace kf::test
