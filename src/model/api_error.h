// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include <kfactory/model.h>

#include "http.h"

namespace kf {

// What a server says went wrong, whatever form it says it in.
struct ApiError {
  int status = 0;  // HTTP status; a number in the body stands in inside a 200 stream
  std::string message, type, code, param;
};

// Reads the nested {"error":{...}}, flat {"object":"error",...}, {"error":"text"}, {"detail":...}, Anthropic and
// Gemini forms, HTML pages (their title and text) and plain text. The message is one line.
ApiError read_api_error(int status, std::string_view body);

// What to do about it.
struct Judgement {
  ModelError::Kind kind = ModelError::Kind::kServer;
  bool retry = false;
  bool run_can_go_on = true;
};
// `head` may be null (an error inside a stream). A spent quota is never retried, whatever the headers say.
Judgement judge(const ApiError& error, const HttpHead* head);

// One line for people: status, code, message and what to do.
std::string describe(const ApiError& error, ModelError::Kind kind);

// Control characters become spaces, runs of space one; cut at a UTF-8 boundary.
std::string one_line(std::string_view text, std::size_t most_bytes = 500);

}  // namespace kf
