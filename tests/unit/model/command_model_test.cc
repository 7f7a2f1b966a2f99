// SPDX-License-Identifier: Apache-2.0
#include "model/command_model.h"

#include <gmock/gmock.h>

#include <thread>

#include "fake_http.h"
#include "os/steady_clock.h"

namespace kf::test {
namespace {

using Kind = ModelError::Kind;
using std::chrono::milliseconds;
using ::testing::HasSubstr;

std::expected<Reply, ModelError> run(const std::string& script, milliseconds deadline = milliseconds(10'000),
                                     ModelCall call = small_call(), std::stop_token stop = {}) {
  SteadyClock clock;
  return command_model({"sh", "-c", script}, deadline, clock)->ask(call, std::move(stop));
}

TEST(CommandModel, GivesTheRequestAndTakesTheAnswer) {
  const auto reply = run("cat; echo \"$KFACTORY_ROLE $KFACTORY_ORDINAL $KFACTORY_MAX_OUTPUT_TOKENS\"");
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(
      reply->text,
      "\n# Instructions\n\nYou write kernels.\n\n# Task\n\nThe task.\n\n# Question\n\nWrite one.\nwriter 1 500\n");
  EXPECT_EQ(reply->usage.output_tokens, std::nullopt);
}
TEST(CommandModel, DoesNotBlockOnLargeTextsEitherWay) {
  ModelCall call = small_call();
  call.prefix = std::string(3'000'000, 'x');
  const auto reply = run("head -c 2000000 /dev/zero | tr '\\0' y; cat >/dev/null; head -c 300000 /dev/zero >&2",
                         milliseconds(20'000), call);
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->text.size(), 2'000'000u);
}
TEST(CommandModel, NeedNotReadItsStdin) {
  ModelCall call = small_call();
  call.prefix = std::string(3'000'000, 'x');
  EXPECT_EQ(run("exec 0<&-; echo hi", milliseconds(10'000), call)->text, "hi\n");
}
TEST(CommandModel, TellsHowTheProgramFailed) {
  const auto reply = run("echo 'no \033[31mtokens' >&2; exit 3");
  EXPECT_EQ(reply.error().kind, Kind::kServer);
  EXPECT_THAT(reply.error().message, HasSubstr("exit code 3"));
  EXPECT_THAT(reply.error().message, HasSubstr("no [31mtokens"));
  EXPECT_TRUE(reply.error().run_can_go_on);
}
TEST(CommandModel, TakesSilenceForNoReply) {
  EXPECT_EQ(run("echo").error().kind, Kind::kNoReply);
}
TEST(CommandModel, CannotGoOnWithoutTheProgram) {
  SteadyClock clock;
  const auto reply = command_model({"/nowhere/model"}, milliseconds(1'000), clock)->ask(small_call(), {});
  EXPECT_EQ(reply.error().kind, Kind::kUnreachable);
  EXPECT_FALSE(reply.error().run_can_go_on);
  EXPECT_THAT(reply.error().message, HasSubstr("/nowhere/model"));
}
TEST(CommandModel, EndsAtTheDeadline) {
  const auto start = std::chrono::steady_clock::now();
  const auto reply = run("sleep 30 & sleep 30", milliseconds(150));
  EXPECT_EQ(reply.error().kind, Kind::kTimeout);
  EXPECT_LT(std::chrono::steady_clock::now() - start, milliseconds(3'000));
}
TEST(CommandModel, StopsAtOnce) {
  std::stop_source stop;
  std::jthread stopper([&] {
    std::this_thread::sleep_for(milliseconds(100));
    stop.request_stop();
  });
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(run("sleep 30", milliseconds(30'000), small_call(), stop.get_token()).error().kind, Kind::kCancelled);
  EXPECT_LT(std::chrono::steady_clock::now() - start, milliseconds(3'000));
}
TEST(CommandModel, LimitsWhatItTakes) {
  EXPECT_EQ(run("cat /dev/zero").error().kind, Kind::kProtocol);
}
TEST(CommandModel, DescribesTheProgramOnly) {
  SteadyClock clock;
  EXPECT_EQ(command_model({"my-model", "--token", "secret"}, milliseconds(1), clock)->description(),
            "command my-model");
}

}  // namespace
}  // namespace kf::test
