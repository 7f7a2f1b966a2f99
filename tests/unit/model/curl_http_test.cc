// SPDX-License-Identifier: Apache-2.0
#include "model/curl_http.h"

#include <gmock/gmock.h>
#include <sys/socket.h>

#include <thread>

#include "model/curl_library.h"
#include "os/steady_clock.h"
#include "tests/fakes/fault_server.h"

// The transport against real sockets on the loopback.

namespace kf::test {
namespace {

using Fault = HttpFault::Kind;
using std::chrono::milliseconds;
using ::testing::HasSubstr;

struct Collected : HttpReceiver {
  HttpHead head;
  std::string body;
  std::size_t enough_after = std::string::npos;
  int heads = 0;
  void on_head(const HttpHead& answer) override {
    head = answer;
    ++heads;
  }
  Wanted on_bytes(std::string_view bytes) override {
    body += bytes;
    return body.size() >= enough_after ? Wanted::kEnough : Wanted::kMore;
  }
};

HttpRequest request_to(const std::string& url) {
  HttpRequest request{.url = url + "/x",
                      .headers = {{"X-Test", "yes", {}}, {"Authorization", "Bearer ", Secret("sk-1")}},
                      .body = "{\"a\":1}"};
  request.timeouts = {.connect = milliseconds(2'000), .idle = milliseconds(2'000), .total = milliseconds(5'000)};
  return request;
}

class CurlHttpTest : public ::testing::Test {
 protected:
  std::optional<HttpFault> send(const HttpRequest& request, std::stop_token stop = {}) {
    return http_->send(request, collected_, std::move(stop));
  }

  SteadyClock clock_;
  std::unique_ptr<Http> http_ = curl_http(clock_, "");
  Collected collected_;
};

TEST_F(CurlHttpTest, PostsAndReceives) {
  FaultServer server(
      {[](Connection& c) { c.send(whole_response(200, "hello", "text/plain", {{"X-Request-Id", "7"}})); }});
  EXPECT_EQ(send(request_to(server.url())), std::nullopt);
  EXPECT_EQ(collected_.head.status, 200);
  EXPECT_EQ(collected_.head.find("x-request-id"), "7");
  EXPECT_EQ(collected_.body, "hello");
  const SeenRequest seen = server.requests().at(0);
  EXPECT_THAT(seen.head, HasSubstr("POST /v1/x HTTP/1.1\r\n"));
  EXPECT_THAT(seen.head, HasSubstr("X-Test: yes\r\n"));
  EXPECT_THAT(seen.head, HasSubstr("Authorization: Bearer sk-1\r\n"));
  EXPECT_EQ(seen.body, "{\"a\":1}");
}
TEST_F(CurlHttpTest, SendsLargeBodies) {
  FaultServer server({[](Connection& c) { c.send(whole_response(200, "ok")); }});
  HttpRequest request = request_to(server.url());
  request.body.assign(3'000'000, 'x');
  EXPECT_EQ(send(request), std::nullopt);
  EXPECT_EQ(server.requests().at(0).body.size(), 3'000'000u);
}
TEST_F(CurlHttpTest, KeepsTheConnection) {
  FaultServer server({[](Connection& c) { c.send(whole_response(200, "ok")); }});
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(send(request_to(server.url())), std::nullopt);
  }
  EXPECT_EQ(server.connections(), 1);
}
TEST_F(CurlHttpTest, OpensAnotherConnectionWhereTheOldOneWasClosed) {
  FaultServer server({[](Connection& c) {
    c.send(whole_response(200, "ok"));
    c.close();
  }});
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(send(request_to(server.url())), std::nullopt);
  }
  EXPECT_EQ(server.requests().size(), 3u);
}
TEST_F(CurlHttpTest, GivesOneHeadAfterInterimAnswers) {
  FaultServer server(
      {[](Connection& c) { c.send("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + whole_response(201, "ok")); }});
  EXPECT_EQ(send(request_to(server.url())), std::nullopt);
  EXPECT_EQ(collected_.heads, 1);
  EXPECT_EQ(collected_.head.status, 201);
  EXPECT_EQ(collected_.head.find("link"), std::nullopt);
}
TEST_F(CurlHttpTest, GivesAHeadWithoutABody) {
  FaultServer server({[](Connection& c) { c.send("HTTP/1.1 204 No Content\r\n\r\n"); }});
  EXPECT_EQ(send(request_to(server.url())), std::nullopt);
  EXPECT_EQ(collected_.head.status, 204);
}
TEST_F(CurlHttpTest, DoesNotFollowRedirects) {
  FaultServer server(
      {[](Connection& c) { c.send(whole_response(307, "", "text/plain", {{"Location", "http://127.0.0.1:1/"}})); }});
  EXPECT_EQ(send(request_to(server.url())), std::nullopt);
  EXPECT_EQ(collected_.head.status, 307);
  EXPECT_EQ(server.requests().size(), 1u);
}
TEST_F(CurlHttpTest, SaysThatNobodyListens) {
  const auto fault = send(request_to("http://127.0.0.1:" + std::to_string(unused_port())));
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, Fault::kConnect);
  EXPECT_FALSE(fault->sent);
  EXPECT_THAT(fault->message, HasSubstr("127.0.0.1"));
}
// Its backlog is full, so the kernel answers no further SYN: a machine behind a firewall that drops looks like this.
TEST_F(CurlHttpTest, EndsAConnectionThatIsNeverMade) {
  const FullListener listener;
  HttpRequest request = request_to(listener.url());
  request.timeouts.connect = milliseconds(150);
  const auto start = clock_.now();
  const auto fault = send(request);
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, Fault::kTimeout);
  EXPECT_THAT(fault->message, HasSubstr("no connection after 150 ms (connect timeout)"));
  EXPECT_FALSE(fault->sent);
  EXPECT_LT(clock_.now() - start, milliseconds(1'500));
}
TEST_F(CurlHttpTest, DropsEndlessHeaders) {
  std::atomic<std::int64_t> sent = 0;
  FaultServer server({[&](Connection& c) {
    c.send("HTTP/1.1 200 OK\r\n");
    const std::string line = "X-Filler: " + std::string(1000, 'x') + "\r\n";
    for (int i = 0; i < 100'000 && c.send(line); ++i) {
      sent += static_cast<std::int64_t>(line.size());
    }
  }});
  const auto fault = send(request_to(server.url()));
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, Fault::kTooLarge);
  EXPECT_THAT(fault->message, HasSubstr("headers"));
  EXPECT_LT(sent, 64 << 20);
}
TEST_F(CurlHttpTest, DropsEndlessInterimAnswers) {
  FaultServer server({[&](Connection& c) {
    for (int i = 0; i < 1'000'000 && c.send("HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\n"); ++i) {
    }
  }});
  const auto fault = send(request_to(server.url()));
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, Fault::kTooLarge);
}
TEST_F(CurlHttpTest, SaysThatANameIsUnknown) {
  const auto fault = send(request_to("http://no-such-host.invalid"));
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, Fault::kConnect);
}
TEST_F(CurlHttpTest, EndsASilentConnection) {
  FaultServer server({[](Connection& c) { c.stall(); }});
  HttpRequest request = request_to(server.url());
  request.timeouts.idle = milliseconds(120);
  const auto start = clock_.now();
  const auto fault = send(request);
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, Fault::kTimeout);
  EXPECT_THAT(fault->message, HasSubstr("idle"));
  EXPECT_TRUE(fault->sent);
  EXPECT_LT(clock_.now() - start, milliseconds(1'500));
}
TEST_F(CurlHttpTest, TakesPingsForLife) {
  FaultServer server({[](Connection& c) {
    c.send(stream_head());
    for (int i = 0; i < 24; ++i) {
      c.send(chunk(": ping\n\n"));
      c.pause(40);
    }
    c.send(kLastChunk);
  }});
  HttpRequest request = request_to(server.url());
  request.timeouts.idle = milliseconds(700);  // less than all pings take, and much more than one
  EXPECT_EQ(send(request), std::nullopt);
}
TEST_F(CurlHttpTest, EndsAtTheTotalTimeHoweverLivelyTheServer) {
  FaultServer server({[](Connection& c) {
    c.send(stream_head());
    while (c.send(chunk(": ping\n\n"))) {
      c.pause(20);
    }
  }});
  HttpRequest request = request_to(server.url());
  request.timeouts.total = milliseconds(200);
  const auto fault = send(request);
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, Fault::kTimeout);
  EXPECT_THAT(fault->message, HasSubstr("total"));
}
TEST_F(CurlHttpTest, StopsWithinTwoHundredMilliseconds) {
  FaultServer server({[](Connection& c) { c.stall(); }});
  std::stop_source stop;
  std::chrono::steady_clock::time_point stopped_at;
  std::jthread stopper([&] {
    std::this_thread::sleep_for(milliseconds(80));
    stopped_at = clock_.now();
    stop.request_stop();
  });
  const auto fault = send(request_to(server.url()), stop.get_token());
  const auto end = clock_.now();
  stopper.join();
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, Fault::kCancelled);
  EXPECT_LT(end - stopped_at, milliseconds(200));
}
TEST_F(CurlHttpTest, DropsAnEndlessBody) {
  FaultServer server({[](Connection& c) {
    c.send(stream_head());
    const std::string block = chunk(std::string(1 << 20, 'x'));
    while (c.send(block)) {
    }
  }});
  HttpRequest request = request_to(server.url());
  request.largest_response = 4 << 20;
  const auto fault = send(request);
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, Fault::kTooLarge);
  EXPECT_LE(collected_.body.size(), 4u << 20);
}
TEST_F(CurlHttpTest, DoesNotWaitForTheEndOfWhatItHasEnoughOf) {
  FaultServer server({[](Connection& c) {
    c.send(stream_head() + chunk("all"));
    c.stall();
  }});
  collected_.enough_after = 3;
  const auto start = clock_.now();
  EXPECT_EQ(send(request_to(server.url())), std::nullopt);
  EXPECT_LT(clock_.now() - start, milliseconds(1'500));
}
TEST_F(CurlHttpTest, CallsAShortBodyAReset) {
  FaultServer server({[](Connection& c) {
    c.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort");
    c.close();
  }});
  const auto fault = send(request_to(server.url()));
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, Fault::kReset);
  EXPECT_EQ(collected_.body, "short");
}
TEST_F(CurlHttpTest, RefusesWhatIsNotHttp) {
  FaultServer server({[](Connection& c) {
    c.send("SSH-2.0-OpenSSH_9.2\r\n");
    c.close();
  }});
  const auto fault = send(request_to(server.url()));
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, Fault::kMalformed);
}
TEST_F(CurlHttpTest, VerifiesCertificates) {
  FaultServer server({[](Connection& c) { c.stall(); }});
  std::string url = server.url();
  url.replace(0, 4, "https");
  HttpRequest request = request_to(url);
  request.timeouts.connect = milliseconds(300);
  http_ = curl_http(clock_, "/nowhere/ca.pem");
  const auto fault = send(request);
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, Fault::kTls);
  EXPECT_THAT(fault->message, HasSubstr("/nowhere/ca.pem"));
}
TEST_F(CurlHttpTest, EndsAHandshakeThatIsNeverAnswered) {
  FaultServer server({[](Connection& c) { c.stall(); }});
  std::string url = server.url();
  url.replace(0, 4, "https");
  HttpRequest request = request_to(url);
  request.timeouts.connect = milliseconds(300);
  const auto fault = send(request);
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, Fault::kTimeout);
  EXPECT_THAT(fault->message, HasSubstr("connect timeout"));
  EXPECT_FALSE(fault->sent);
}
TEST_F(CurlHttpTest, LetsManyThreadsAskAtOnce) {
  FaultServer server({[](Connection& c) { c.send(whole_response(200, "ok")); }});
  std::atomic<int> good = 0;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 12; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 4; ++k) {
        Collected collected;
        good += !http_->send(request_to(server.url()), collected, {}) && collected.body == "ok" ? 1 : 0;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(good, 48);
  EXPECT_LE(server.connections(), 12);
}
TEST_F(CurlHttpTest, PassesOnWhatTheReceiverThrows) {
  struct Thrower : HttpReceiver {
    void on_head(const HttpHead&) override { throw std::runtime_error("from the receiver"); }
    Wanted on_bytes(std::string_view) override { return Wanted::kMore; }
  };
  FaultServer server({[](Connection& c) { c.send(whole_response(200, "ok")); }});
  Thrower thrower;
  EXPECT_THROW((void)http_->send(request_to(server.url()), thrower, {}), std::runtime_error);
}

TEST(CurlLibrary, SaysWhatItTriedWhenThereIsNone) {
  const auto library = CurlLibrary::open({"libno-such-curl.so.4", "libm.so.6"});
  ASSERT_FALSE(library);
  EXPECT_THAT(library.error().what, HasSubstr("libno-such-curl.so.4"));
  EXPECT_THAT(library.error().what, HasSubstr("libm.so.6: has no curl_"));
  EXPECT_THAT(library.error().hint, HasSubstr("libcurl4"));
}
TEST(CurlLibrary, TakesTheGnutlsBuildToo) {
  const auto library = CurlLibrary::open({"libno-such-curl.so.4", "libcurl-gnutls.so.4", "libcurl.so.4"});
  ASSERT_TRUE(library) << to_string(library.error());
  EXPECT_THAT((*library)->path, HasSubstr("libcurl"));
}

}  // namespace
}  // namespace kf::test
