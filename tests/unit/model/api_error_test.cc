// SPDX-License-Identifier: Apache-2.0
#include "model/api_error.h"

#include <gmock/gmock.h>

namespace kf {
namespace {

using Kind = ModelError::Kind;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(ApiError, ReadsTheNestedForm) {
  const ApiError error = read_api_error(
      400,
      R"({"error":{"message":"Bad\nthing","type":"invalid_request_error","param":"max_tokens","code":"unsupported_parameter"}})");
  EXPECT_EQ(error.message, "Bad thing");
  EXPECT_EQ(error.type, "invalid_request_error");
  EXPECT_EQ(error.param, "max_tokens");
  EXPECT_EQ(error.code, "unsupported_parameter");
}
TEST(ApiError, ReadsSglangsFlatForm) {
  const ApiError error =
      read_api_error(400, R"({"object":"error","message":"no","type":"BadRequestError","param":null,"code":400})");
  EXPECT_EQ(error.message, "no");
  EXPECT_EQ(error.type, "BadRequestError");
  EXPECT_EQ(error.param, "");
}
TEST(ApiError, ReadsOtherForms) {
  EXPECT_EQ(read_api_error(404, R"({"error":"model not found"})").message, "model not found");  // Ollama
  EXPECT_EQ(read_api_error(500, R"({"detail":"Internal"})").message, "Internal");
  const ApiError fast = read_api_error(
      422, R"({"detail":[{"type":"extra_forbidden","loc":["body","stream_options"],"msg":"Extra inputs"}]})");
  EXPECT_EQ(fast.param, "stream_options");
  EXPECT_EQ(fast.message, "Extra inputs");
  const ApiError gemini =
      read_api_error(429, R"([{"error":{"code":429,"message":"slow","status":"RESOURCE_EXHAUSTED","details":[]}}])");
  EXPECT_EQ(gemini.message, "slow");
  EXPECT_EQ(gemini.type, "RESOURCE_EXHAUSTED");
  const ApiError anthropic = read_api_error(
      429,
      R"({"type":"error","error":{"type":"rate_limit_error","message":"m","details":{"error_code":"enforced_spend_limit_reached"}}})");
  EXPECT_EQ(anthropic.code, "enforced_spend_limit_reached");
}
TEST(ApiError, ReadsTheWordsOfAWebPage) {
  const ApiError error = read_api_error(
      502,
      "<html><head><title>502 Bad "
      "Gateway</title><style>b{color:red}</style></head>\r\n<body><center><h1>nginx</h1></center></body></html>");
  EXPECT_EQ(one_line(error.message), "502 Bad Gateway nginx");
  EXPECT_THAT(error.message, Not(HasSubstr("color")));
}
TEST(ApiError, ReadsPlainTextAndNothing) {
  EXPECT_EQ(read_api_error(503, "upstream\x1b[31m down\n").message, "upstream [31m down");
  EXPECT_EQ(read_api_error(503, "").message, "");
  EXPECT_EQ(describe(read_api_error(503, ""), Kind::kServer), "HTTP 503");
}
TEST(ApiError, TakesTheStatusOutOfAStream) {
  EXPECT_EQ(read_api_error(200, R"({"error":{"code":503,"message":"x"}})").status, 503);
}
TEST(ApiError, CutsLongMessagesBetweenCharacters) {
  EXPECT_EQ(one_line("ab\xC3\xA9", 3), "ab...");
  EXPECT_EQ(one_line("ab\xC3\xA9", 4), "ab\xC3\xA9");
}

struct Row {
  int status;
  const char* body;
  Kind kind;
  bool retry, run_can_go_on;
};
const Row kRows[] = {
    {400, R"({"error":{"message":"bad"}})", Kind::kBadRequest, false, true},
    {400, R"({"error":{"message":"x","code":"unsupported_parameter","param":"foo"}})", Kind::kBadRequest, false, false},
    {400,
     R"({"error":{"message":"This model's maximum context length is 8192 tokens","code":"context_length_exceeded"}})",
     Kind::kContextFull, false, true},
    {400, R"({"error":{"message":"prompt is too long: 300 > 200","type":"invalid_request_error"}})", Kind::kContextFull,
     false, true},
    {401, R"({"error":{"message":"no key"}})", Kind::kAuthentication, false, false},
    {402, R"({"error":{"message":"Insufficient credits","code":402}})", Kind::kQuota, false, false},
    {403, "", Kind::kAuthentication, false, false},
    {404, R"({"error":{"message":"no such model"}})", Kind::kBadRequest, false, false},
    {408, "", Kind::kTimeout, true, true},
    {409, "", Kind::kServer, true, true},
    {413, "", Kind::kContextFull, false, true},
    {422, R"({"detail":"?"})", Kind::kBadRequest, false, true},
    {429, "", Kind::kRateLimit, true, true},
    {429,
     R"({"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}})",
     Kind::kQuota, false, false},
    {429, R"({"error":{"message":"m","type":"insufficient_quota","code":"project_spend_limit_exceeded"}})",
     Kind::kQuota, false, false},
    {429,
     R"({"type":"error","error":{"type":"rate_limit_error","message":"m","details":{"error_code":"contract_spend_limit_reached"}}})",
     Kind::kQuota, false, false},
    {500, "", Kind::kServer, true, true},
    {503, R"({"error":{"code":503,"message":"Loading model","type":"unavailable_error"}})", Kind::kServer, true, true},
    {529, R"({"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}})", Kind::kServer, true, true},
    {302, "", Kind::kBadRequest, false, false},
    {200, R"({"error":{"message":"x","type":"server_error"}})", Kind::kServer, true, true},
    {200, R"({"error":{"message":"x","type":"invalid_request_error"}})", Kind::kBadRequest, false, true},
    {200, R"({"error":{"message":"x","code":429}})", Kind::kRateLimit, true, true},
};

TEST(Judgement, FollowsTheTable) {
  for (const Row& row : kRows) {
    const Judgement judgement = judge(read_api_error(row.status, row.body), nullptr);
    EXPECT_EQ(to_string(judgement.kind), to_string(row.kind)) << row.status << ' ' << row.body;
    EXPECT_EQ(judgement.retry, row.retry) << row.status << ' ' << row.body;
    EXPECT_EQ(judgement.run_can_go_on, row.run_can_go_on) << row.status << ' ' << row.body;
  }
}
TEST(Judgement, ObeysTheServersWishExceptForASpentQuota) {
  const HttpHead yes{429, {{"x-should-retry", "true"}}}, no{500, {{"x-should-retry", "false"}}};
  EXPECT_FALSE(judge(read_api_error(500, ""), &no).retry);
  EXPECT_TRUE(judge(read_api_error(400, "{}"), &yes).retry);
  EXPECT_FALSE(judge(read_api_error(429, R"({"error":{"code":"insufficient_quota"}})"), &yes).retry);
}

}  // namespace
}  // namespace kf
