// SPDX-License-Identifier: Apache-2.0
#include "rig/message.h"

#include <gtest/gtest.h>

#include <random>

#include "format/job_json.h"
#include "format/outcome_json.h"
#include "tests/fakes/toy_operation.h"

namespace kf {
namespace {

TEST(Messages, OfJobsComeBack) {
  const Job job = fakes::toy_check("good", {fakes::toy_case(3, 8)});
  const auto message = read_message(to_frame(job_message(42, job)));
  ASSERT_TRUE(message) << to_string(message.error());
  EXPECT_EQ(message->kind, MessageKind::kJob);
  EXPECT_EQ(message->job, 42U);
  EXPECT_EQ(message->deadline, job.deadline);
  const auto decoded = decode_job(message->body, message->blob);
  ASSERT_TRUE(decoded) << to_string(decoded.error());
  EXPECT_EQ(encode_job(*decoded).json, encode_job(job).json);
}

TEST(Messages, OfProgressAndCancelHaveNoBody) {
  const auto progress = read_message(to_frame(progress_message(7, "candidate")));
  ASSERT_TRUE(progress);
  EXPECT_EQ(progress->phase, "candidate");
  EXPECT_TRUE(progress->body.empty());
  Message cancel;
  cancel.kind = MessageKind::kCancel;
  cancel.job = 7;
  EXPECT_EQ(to_frame(cancel).json, R"({"message":"cancel","job":7})");
}

TEST(Messages, AreNotConfusedByTextThatLooksLikeABody) {
  const std::string nasty = R"(x","body":{"check":1},"y":")";
  const auto message = read_message(to_frame(progress_message(1, nasty)));
  ASSERT_TRUE(message);
  EXPECT_EQ(message->phase, nasty);
  EXPECT_TRUE(message->body.empty());
}

TEST(Messages, AreRefusedWhenTheyAreNone) {
  for (const char* text :
       {"", "{", "[]", "null", "{}", R"({"message":"dance"})", R"({"message":5})", R"({"message":"job","job":-1})",
        R"({"message":"job","job":"1"})", R"({"message":"job","job":1,"deadline_ms":1e300})",
        R"({"message":"job","job":1,"body":)", "\xff\xfe"}) {
    EXPECT_FALSE(read_message({text, {}})) << text;
  }
  EXPECT_FALSE(read_message({"{\"message\":\"cancel\",\"job\":1,\"x\":\"" + std::string(2000, 'x') + "\"}", {}}));
  EXPECT_FALSE(read_message({std::string(900, '['), {}}));
}

TEST(Messages, SurviveMutations) {
  std::mt19937_64 random(3);
  const Frame frame = to_frame(job_message(1, fakes::toy_check("good", {fakes::toy_case(3, 8)})));
  int readable = 0;
  for (int round = 0; round < 1000; ++round) {
    Frame mutated = frame;
    for (std::uint64_t i = random() % 4 + 1; i > 0; --i) {
      mutated.json[random() % mutated.json.size()] = static_cast<char>(random());
    }
    if (random() % 3 == 0) {
      mutated.json.resize(random() % mutated.json.size());
    }
    if (const auto message = read_message(mutated)) {
      readable += decode_job(message->body, message->blob).has_value() ? 1 : 0;
    }
  }
  EXPECT_LT(readable, 1000);
}

TEST(Hello, ComesBackWithFactsOrFault) {
  fakes::HostDeviceOptions options;
  options.facts.cluster_slots = {{2, 60}, {16, 7}};
  const auto with_facts = read_hello(hello_message({kProtocolVersion, "1.2.3", options.facts}));
  ASSERT_TRUE(with_facts) << to_string(with_facts.error());
  EXPECT_EQ(with_facts->version, "1.2.3");
  const auto& facts = std::get<DeviceFacts>(with_facts->described);
  EXPECT_EQ(facts.cluster_slots, options.facts.cluster_slots);
  EXPECT_EQ(facts.name, options.facts.name);
  const auto with_fault =
      read_hello(hello_message({kProtocolVersion, "1", Fault{Fault::Kind::kRig, "lost", "no driver"}}));
  ASSERT_TRUE(with_fault);
  EXPECT_EQ(std::get<Fault>(with_fault->described).what, "no driver");
}

TEST(Hello, OfAnotherProtocolSaysWhatToDo) {
  const auto hello = read_hello(hello_message({kProtocolVersion + 3, "9", DeviceFacts{}}));
  ASSERT_FALSE(hello);
  EXPECT_NE(hello.error().what.find("protocol 4"), std::string::npos);
  EXPECT_NE(hello.error().what.find("same kfactory"), std::string::npos);
}

TEST(Hello, IsRefusedWhenItIsNone) {
  Message message = hello_message({kProtocolVersion, "1", DeviceFacts{}});
  message.body = "{}";
  EXPECT_FALSE(read_hello(message));
  message.body = "[" + std::string(100'000, '[');
  EXPECT_FALSE(read_hello(message));
  EXPECT_FALSE(read_hello(progress_message(1, "rig")));
}

}  // namespace
}  // namespace kf
