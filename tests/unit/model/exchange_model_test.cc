// SPDX-License-Identifier: Apache-2.0
#include "model/exchange_model.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "fake_http.h"
#include "folder.h"

namespace kf::test {
namespace {

using Kind = ModelError::Kind;
using std::chrono::milliseconds;
using ::testing::HasSubstr;

// The wall clock stands years before any file's time, so that only stability counts, unless a test turns it.
struct Exchange {
  explicit Exchange(bool wait = true) : model(exchange_model({.folder = folder / "x", .wait = wait}, clock)) {
    clock.utc_ = "2000-01-01T00:00:00Z";
  }
  std::expected<Reply, ModelError> ask(std::stop_token stop = {}) { return model->ask(small_call(), std::move(stop)); }
  std::string request() const { return content_of(folder / "x/writer-1.request.md"); }
  void reply(std::string_view text) { write_content(folder / "x/writer-1.reply.md", text); }

  Folder folder;
  FakeClock clock;
  std::unique_ptr<Model> model;
};

TEST(Exchange, WritesARequestThatPeopleCanRead) {
  Exchange exchange(false);
  EXPECT_EQ(exchange.ask().error().kind, Kind::kWaiting);
  const std::string request = exchange.request();
  EXPECT_THAT(request,
              ::testing::StartsWith(
                  "---\nkfactory_exchange: 1\nrole: writer\nordinal: 1\nmax_output_tokens: 500\nrequest_sha256: "));
  EXPECT_THAT(request, HasSubstr("reply: writer-1.reply.md\n"));
  EXPECT_THAT(request, HasSubstr("# Instructions\n\nYou write kernels.\n"));
  EXPECT_THAT(request, HasSubstr("# Task\n\nThe task.\n"));
  EXPECT_THAT(request, HasSubstr("# Question\n\nWrite one.\n"));
}
TEST(Exchange, WaitsForTheReply) {
  Exchange exchange;
  int polls = 0;
  exchange.clock.during_sleep = [&] {
    if (++polls == 3) {
      exchange.reply("\xEF\xBB\xBFHere it is.\r\n");
    }
  };
  const auto reply = exchange.ask();
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->text, "Here it is.\n");
  EXPECT_EQ(reply->usage.output_tokens, std::nullopt);
  EXPECT_EQ(reply->usage.estimated_output_tokens, 3);
  EXPECT_GE(exchange.clock.sleeps().size(), 5u);  // two more polls: it has to stay as it is for a second
}
TEST(Exchange, DoesNotReadAReplyThatStillGrows) {
  Exchange exchange;
  std::string text;
  exchange.clock.during_sleep = [&] {
    if (text.size() < 10) {
      exchange.reply(text += "x");
    }
  };
  EXPECT_EQ(exchange.ask()->text, "xxxxxxxxxx");
}
TEST(Exchange, TakesAnEmptyFileForNoReply) {
  Exchange exchange(false);
  (void)exchange.ask();
  exchange.reply("");
  EXPECT_EQ(exchange.ask().error().kind, Kind::kWaiting);
}
TEST(Exchange, ReadsAnOldReplyAtOnce) {
  Exchange exchange(false);
  (void)exchange.ask();
  exchange.reply("answer");
  exchange.clock.utc_ = "2099-01-01T00:00:00Z";
  EXPECT_EQ(exchange.ask()->text, "answer");
  EXPECT_THAT(exchange.clock.sleeps(), ::testing::IsEmpty());
}
TEST(Exchange, WithoutWaitStillSeesAFreshReplyThrough) {
  Exchange exchange(false);
  (void)exchange.ask();
  exchange.reply("answer");
  EXPECT_EQ(exchange.ask()->text, "answer");
  EXPECT_THAT(exchange.clock.sleeps(), ::testing::ElementsAre(milliseconds(500), milliseconds(500)));
}
TEST(Exchange, LeavesAnEqualRequestAlone) {
  Exchange exchange(false);
  (void)exchange.ask();
  const auto time = std::filesystem::last_write_time(exchange.folder / "x/writer-1.request.md");
  (void)exchange.ask();
  EXPECT_EQ(std::filesystem::last_write_time(exchange.folder / "x/writer-1.request.md"), time);
}
TEST(Exchange, RefusesAReplyToAnotherRunsRequest) {
  Exchange exchange(false);
  (void)exchange.ask();
  exchange.reply("answer");
  ModelCall other = small_call();
  other.prompt = "Something else.";
  const auto reply = exchange.model->ask(other, {});
  EXPECT_EQ(reply.error().kind, Kind::kProtocol);
  EXPECT_FALSE(reply.error().run_can_go_on);
  EXPECT_THAT(reply.error().message, HasSubstr("belongs to another run"));
  EXPECT_THAT(reply.error().message, HasSubstr("move both files away and --resume"))
      << "a librarian's reply to a question that a larger budget changed";
}
TEST(Exchange, ReplacesARequestThatNobodyAnswered) {
  Exchange exchange(false);
  (void)exchange.ask();
  ModelCall other = small_call();
  other.prompt = "Something else.";
  EXPECT_EQ(exchange.model->ask(other, {}).error().kind, Kind::kWaiting);
  EXPECT_THAT(exchange.request(), HasSubstr("Something else."));
}
TEST(Exchange, StopsWhileWaiting) {
  Exchange exchange;
  std::stop_source stop;
  exchange.clock.during_sleep = [&] { stop.request_stop(); };
  EXPECT_EQ(exchange.ask(stop.get_token()).error().kind, Kind::kCancelled);
}
TEST(Exchange, SaysWhenTheFolderCannotBeWritten) {
  FakeClock clock;
  const auto reply = exchange_model({.folder = "/proc/none"}, clock)->ask(small_call(), {});
  EXPECT_FALSE(reply.error().run_can_go_on);
  EXPECT_THAT(reply.error().message, HasSubstr("/proc/none"));
}

}  // namespace
}  // namespace kf::test
