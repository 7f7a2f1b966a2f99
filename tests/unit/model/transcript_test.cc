// SPDX-License-Identifier: Apache-2.0
#include "model/transcript.h"

#include <gmock/gmock.h>

#include <thread>

#include "fake_http.h"
#include "folder.h"

namespace kf::test {
namespace {

using Kind = ModelError::Kind;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

ModelCall call_of(Role role, std::uint64_t ordinal, std::string prompt = "Write one.") {
  ModelCall call = small_call(ordinal);
  call.role = role;
  call.prompt = std::move(prompt);
  return call;
}

std::unique_ptr<Model> replay(std::string_view text, bool strict = false) {
  auto transcript = parse_transcript(text, "t.jsonl");
  EXPECT_TRUE(transcript) << to_string(transcript.error());
  return replay_model(std::move(*transcript), strict);
}

constexpr std::string_view kTwo =
    "{\"role\":\"writer\",\"ordinal\":1,\"text\":\"one\"}\n{\"role\":\"writer\",\"ordinal\":2,\"text\":\"two\"}\n";

// Answers with what it was asked.
struct Echo : Model {
  std::expected<Reply, ModelError> ask(const ModelCall& call, std::stop_token) override {
    if (call.prompt == "fail") {
      return std::unexpected(ModelError{Kind::kServer, "HTTP 500", true, {}});
    }
    if (call.prompt == "wait") {
      return std::unexpected(ModelError{Kind::kWaiting, "no reply yet", true, {}});
    }
    Reply reply;
    reply.text = "echo \"" + call.prompt + "\"\n\xF0\x9F\x9A\x80";
    reply.reasoning = "r";
    reply.finish = Finish::kLength;
    reply.finish_raw = "length";
    reply.usage.input_tokens = 12;
    reply.usage.cost_nanodollars = 34;
    reply.usage.estimated_output_tokens = 5;
    reply.usage.retried_tokens = 6;
    reply.usage.raw_json = R"({"prompt_tokens":12})";
    reply.model = "m-1";
    reply.request_id = "req-1";
    reply.latency = std::chrono::milliseconds(250);
    reply.tries = 3;
    return reply;
  }
  std::string description() const override { return "echo"; }
};

TEST(RequestDigest, KeepsItsPartsApart) {
  const auto digest = [](std::string system, std::string prefix, std::string prompt) {
    return to_hex(
        request_digest({.system = std::move(system), .prefix = std::move(prefix), .prompt = std::move(prompt)}));
  };
  EXPECT_NE(digest("a", "b", "c"), digest("ab", "", "c"));
  EXPECT_NE(digest("a", "b", "c"), digest("a", "", "bc"));
  // printf '1 1 1\nabc' | sha256sum
  EXPECT_EQ(digest("a", "b", "c"), "d416538ac03644f355f73ef445614dc56c95a86ff5b2a9026c8a9ba2cc48f15c");
}

TEST(Transcript, IsKeyedByRoleAndOrdinal) {
  const auto model = replay(
      "{\"role\":\"writer\",\"ordinal\":1,\"text\":\"w\"}\n\n{\"role\":\"repairer\",\"ordinal\":1,\"text\":\"r\"}\n");
  EXPECT_EQ(model->ask(call_of(Role::kRepairer, 1), {})->text, "r");
  EXPECT_EQ(model->ask(call_of(Role::kWriter, 1), {})->text, "w");
  EXPECT_EQ(model->ask(call_of(Role::kWriter, 1), {})->text, "w");  // again: a resumed run asks again
}
TEST(Transcript, TakesTheLastOfTwoEntriesWithOneKey) {
  EXPECT_EQ(
      replay("{\"role\":\"writer\",\"ordinal\":1,\"text\":\"a\"}\n{\"role\":\"writer\",\"ordinal\":1,\"text\":\"b\"}\n")
          ->ask(call_of(Role::kWriter, 1), {})
          ->text,
      "b");
}
TEST(Transcript, NotesAReplyToAnotherRequest) {
  const std::string line =
      "{\"role\":\"writer\",\"ordinal\":1,\"request_sha256\":\"" + std::string(64, 'a') + "\",\"text\":\"x\"}\n";
  const auto reply = replay(line)->ask(call_of(Role::kWriter, 1), {});
  ASSERT_TRUE(reply);
  ASSERT_EQ(reply->notes.size(), 1u);
  EXPECT_THAT(reply->notes[0], HasSubstr("another request than this writer 1"));
  const auto strict = replay(line, true)->ask(call_of(Role::kWriter, 1), {});
  EXPECT_EQ(strict.error().kind, Kind::kProtocol);
  EXPECT_FALSE(strict.error().run_can_go_on);
}
TEST(Transcript, SaysWhatItHoldsWhenAReplyIsMissing) {
  const auto model = replay(kTwo);
  const auto missing = model->ask(call_of(Role::kWriter, 3), {});
  EXPECT_EQ(missing.error().kind, Kind::kNoReply);
  EXPECT_EQ(missing.error().message, "t.jsonl has no reply for writer 3; it holds 2 of that role, the last is 2");
}
TEST(Transcript, SaysWhetherAnythingIsLeft) {
  const auto model = replay(kTwo);
  EXPECT_TRUE(model->ask(call_of(Role::kRepairer, 1), {}).error().run_can_go_on);
  (void)model->ask(call_of(Role::kWriter, 2), {});
  (void)model->ask(call_of(Role::kWriter, 1), {});
  EXPECT_FALSE(model->ask(call_of(Role::kRepairer, 2), {}).error().run_can_go_on);
}
TEST(Transcript, NamesTheLineOfEachMistake) {
  const auto broken = parse_transcript(
      "{\"role\":\"poet\",\"ordinal\":1,\"text\":\"\"}\nnonsense\n{\"role\":\"writer\",\"ordinal\":0,\"text\":\"\"}\n"
      "{\"role\":\"writer\",\"ordinal\":1}\n{\"role\":\"writer\",\"ordinal\":1,\"text\":\"\",\"request_sha256\":\"12\"}"
      "\n"
      "{\"role\":\"writer\",\"ordinal\":1,\"text\":\"\",\"finish\":\"maybe\"}\n",
      "t.jsonl");
  ASSERT_FALSE(broken);
  ASSERT_EQ(broken.error().size(), 6u);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(broken.error()[i].where, "t.jsonl:" + std::to_string(i + 1));
  }
  EXPECT_THAT(broken.error()[0].what, HasSubstr("poet"));
}
TEST(Transcript, LeavesOutALineThatACrashCut) {
  const auto torn = parse_transcript(std::string(kTwo) + "{\"role\":\"wri", "t.jsonl");
  ASSERT_TRUE(torn);
  EXPECT_TRUE(torn->torn);
  EXPECT_EQ(torn->entries.size(), 2u);
}

TEST(Recording, ReplaysEqual) {
  const Folder folder;
  FakeClock clock;
  auto writer = TranscriptWriter::open(folder / "t.jsonl", clock);
  ASSERT_TRUE(writer);
  const auto model = recorded(std::make_unique<Echo>(), *writer);
  const ModelCall call = call_of(Role::kWriter, 1, "odd \xFF bytes\n");
  const auto first = model->ask(call, {});
  const auto failed = model->ask(call_of(Role::kRepairer, 1, "fail"), {});
  EXPECT_EQ(model->ask(call_of(Role::kWriter, 2, "wait"), {}).error().kind, Kind::kWaiting);

  auto transcript = read_transcript(folder / "t.jsonl");
  ASSERT_TRUE(transcript) << to_string(transcript.error());
  EXPECT_EQ(transcript->entries.size(), 2u);  // a wait says nothing
  const auto again = replay_model(std::move(*transcript), true);
  const auto second = again->ask(call, {});
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(second->reasoning, first->reasoning);
  EXPECT_EQ(second->finish, first->finish);
  EXPECT_EQ(second->finish_raw, first->finish_raw);
  EXPECT_EQ(second->usage.input_tokens, 12);
  EXPECT_EQ(second->usage.output_tokens, std::nullopt);
  EXPECT_EQ(second->usage.cost_nanodollars, 34);
  EXPECT_EQ(second->usage.retried_tokens, 6);
  EXPECT_EQ(second->usage.raw_json, first->usage.raw_json);
  EXPECT_EQ(second->model, first->model);
  EXPECT_EQ(second->request_id, first->request_id);
  EXPECT_EQ(second->latency, first->latency);
  EXPECT_EQ(second->tries, 3);
  EXPECT_THAT(second->notes, IsEmpty());
  EXPECT_EQ(again->ask(call_of(Role::kRepairer, 1, "fail"), {}).error().message, failed.error().message);
}
TEST(Recording, GoesOnAfterATornLine) {
  const Folder folder;
  FakeClock clock;
  write_content(folder / "t.jsonl",
                std::string(kTwo) + "{\"role\":\"writer\",\"ordinal\":3,\"text\":\"" + std::string(10'000, 'x'));
  auto writer = TranscriptWriter::open(folder / "t.jsonl", clock);
  (void)recorded(std::make_unique<Echo>(), *writer)->ask(call_of(Role::kWriter, 4), {});
  const auto transcript = read_transcript(folder / "t.jsonl");
  ASSERT_TRUE(transcript) << to_string(transcript.error());
  EXPECT_EQ(transcript->entries.size(), 3u);
  EXPECT_FALSE(transcript->entries.contains({Role::kWriter, 3}));
}
TEST(Recording, KeepsALastLineWithoutNewlineThatIsWhole) {
  const Folder folder;
  FakeClock clock;
  write_content(folder / "t.jsonl", kTwo.substr(0, kTwo.size() - 1));
  auto writer = TranscriptWriter::open(folder / "t.jsonl", clock);
  (void)recorded(std::make_unique<Echo>(), *writer)->ask(call_of(Role::kWriter, 3), {});
  EXPECT_EQ(read_transcript(folder / "t.jsonl")->entries.size(), 3u);
}
TEST(Recording, TakesManyThreads) {
  const Folder folder;
  FakeClock clock;
  {
    const auto one = recorded(std::make_unique<Echo>(), *TranscriptWriter::open(folder / "t.jsonl", clock));
    const auto two =
        recorded(std::make_unique<Echo>(), *TranscriptWriter::open(folder / "t.jsonl", clock));  // as another process
    std::vector<std::jthread> threads;
    for (std::uint64_t i = 1; i <= 16; ++i) {
      threads.emplace_back([&, i] { (void)(i % 2 == 0 ? one : two)->ask(call_of(Role::kWriter, i), {}); });
    }
  }
  EXPECT_EQ(read_transcript(folder / "t.jsonl")->entries.size(), 16u);
}

}  // namespace
}  // namespace kf::test
