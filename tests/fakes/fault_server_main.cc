// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>

#include "fault_server.h"

// The fault server as a program, for tests of the real binary:
//
//   kf_fault_server [--journal DIR] STEP...
//
// Prints its base URL ("http://127.0.0.1:PORT/v1") as one line, serves request n with step n (the last step
// serves all that follow), and ends when its stdin ends. Steps:
//
//   text:FILE     a Chat Completions stream that says the file, with usage
//   sse:FILE      the file as it is, as a chunked event stream
//   status:CODE   that status; 429 and 503 with Retry-After: 0.05
//   html:CODE     that status with a web page
//   quota         429 that says that the money is spent
//   drop          the connection is reset in the middle of a stream
//   silent-drop   the connection is reset before any output
//   malformed     a chunk that is not JSON, before any output
//   malformed-later  the same after some output
//   stall         nothing, until the client gives up
//
// --journal writes each request as DIR/N.head and DIR/N.body, N from 1.

namespace kf::test {
namespace {

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    throw std::runtime_error("cannot read " + path);
  }
  return {std::istreambuf_iterator<char>(file), {}};
}

Script answering(std::string response) {
  return [response = std::move(response)](Connection& c) { c.send(response); };
}

Script breaking(std::string part) {
  return [part = std::move(part)](Connection& c) {
    c.send(part);
    c.pause(20);  // or the reset overtakes what was sent
    c.reset();
  };
}

Script script_of(const std::string& step) {
  const std::size_t colon = step.find(':');
  const std::string name = step.substr(0, colon), value = colon == std::string::npos ? "" : step.substr(colon + 1);
  if (name == "text") {
    return answering(stream_response(chat_events(content_of(value))));
  }
  if (name == "sse") {
    return answering(stream_response(content_of(value)));
  }
  if (name == "status") {
    const int code = std::atoi(value.c_str());
    const Headers wait = code == 429 || code == 503 ? Headers{{"Retry-After", "0.05"}} : Headers{};
    return answering(whole_response(code, R"({"error":{"message":"status on demand"}})", "application/json", wait));
  }
  if (name == "html") {
    return answering(whole_response(std::atoi(value.c_str()), "<html><title>Bad Gateway</title></html>", "text/html"));
  }
  if (name == "quota") {
    return answering(
        whole_response(429, R"({"error":{"message":"You exceeded your current quota","type":"insufficient_quota"}})"));
  }
  if (name == "drop") {
    return breaking(stream_head() + chunk(chat_event("The first words of an answer")));
  }
  if (name == "silent-drop") {
    return breaking(stream_head() + chunk(": ping\n\n"));
  }
  if (name == "malformed") {
    return answering(stream_response("data: {\"choices\":[{\n\n"));
  }
  if (name == "malformed-later") {
    return answering(stream_response(chat_event("The first words") + "data: {\"choices\":[{\n\n"));
  }
  if (name == "stall") {
    return [](Connection& c) { c.stall(); };
  }
  throw std::runtime_error("no step is called " + step);
}

int serve(int count, char** arguments) {
  std::optional<std::filesystem::path> journal;
  std::vector<Script> scripts;
  for (int i = 1; i < count; ++i) {
    if (std::string_view(arguments[i]) == "--journal" && i + 1 < count) {
      journal = arguments[++i];
    } else {
      scripts.push_back(script_of(arguments[i]));
    }
  }
  FaultServer server(std::move(scripts));
  if (journal) {
    server.on_request = [&](std::size_t number, const SeenRequest& request) {
      const std::string stem = std::to_string(number + 1);
      std::ofstream(*journal / (stem + ".head"), std::ios::binary) << request.head;
      std::ofstream(*journal / (stem + ".body"), std::ios::binary) << request.body;
    };
  }
  std::cout << server.url() << std::endl;
  for (char byte = 0; read(STDIN_FILENO, &byte, 1) > 0;) {
  }
  return 0;
}

}  // namespace
}  // namespace kf::test

int main(int count, char** arguments) {
  try {
    return kf::test::serve(count, arguments);
  } catch (const std::exception& error) {
    std::cerr << "kf_fault_server: " << error.what() << '\n';
    return 2;
  }
}
