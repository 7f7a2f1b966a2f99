// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "config.h"
#include "secret.h"

namespace kf {

// "name: prefix + secret" or "name: value".
struct HttpHeader {
  std::string name, value;
  Secret secret;  // appended to value
};

struct HttpRequest {
  std::string method = "POST";
  std::string url;
  std::vector<HttpHeader> headers;
  std::string body;
  ModelTimeouts timeouts;
  std::int64_t largest_response = 64LL << 20;  // bytes of body
};

struct HttpHead {
  int status = 0;
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case

  std::optional<std::string> find(std::string_view lower_case_name) const;
};

// Why there is no whole response.
struct HttpFault {
  enum class Kind : std::uint8_t {
    kUnavailable,  // libcurl is missing
    kConnect,      // name not found, refused, no route, proxy; nothing was sent
    kTls,          // certificate or handshake; nothing was sent
    kReset,        // the connection ended early
    kTimeout,      // connect, idle or total: `message` says which
    kMalformed,    // not HTTP
    kTooLarge,
    kCancelled,
  } kind = Kind::kConnect;
  std::string message;
  bool sent = false;  // the request may have reached the server
};

// What a receiver says about the rest of the body.
enum class Wanted : std::uint8_t {
  kMore,
  kEnough,  // the rest is read for a moment, so that the connection can be kept, and dropped
};

// Receives one response, on the calling thread. `on_head` comes once, before any byte.
struct HttpReceiver {
  virtual ~HttpReceiver() = default;
  virtual void on_head(const HttpHead& head) = 0;
  virtual Wanted on_bytes(std::string_view bytes) = 0;
};

// Thread-safe. A stop request ends any wait within 200 ms. Redirects are not followed (a key must not travel
// to another host); TLS is always verified.
struct Http {
  virtual ~Http() = default;
  virtual std::optional<HttpFault> send(const HttpRequest& request, HttpReceiver& receiver, std::stop_token stop) = 0;
};

}  // namespace kf
