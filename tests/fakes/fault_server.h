// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

// An HTTP server on a loopback port that does what no good server does: one script a request.

namespace kf::test {

struct SeenRequest {
  std::string head;  // request line and headers, as they came
  std::string body;
};

// What a script does with one request's connection.
class Connection {
 public:
  Connection(int fd, const std::atomic<bool>& stopping) : fd_(fd), stopping_(stopping) {}

  // False when the peer is gone.
  bool send(std::string_view bytes);
  // In pieces of so many bytes, each in a packet of its own.
  bool send_in_pieces(std::string_view bytes, std::size_t piece);
  // Until the peer hangs up or the server ends; nothing is sent.
  void stall();
  void pause(int milliseconds);
  void reset();       // RST
  void close();       // FIN both ways
  void half_close();  // FIN, and still reads
  bool is_open() const { return open_; }

 private:
  friend class FaultServer;
  bool read_request(SeenRequest& request);
  const int fd_;
  const std::atomic<bool>& stopping_;
  bool open_ = true;
  std::string buffered_;
};

using Script = std::function<void(Connection&)>;

class FaultServer {
 public:
  // Request number n (over all connections) gets scripts[n]; the last one serves all that follow.
  explicit FaultServer(std::vector<Script> scripts);
  ~FaultServer();
  FaultServer(const FaultServer&) = delete;
  FaultServer& operator=(const FaultServer&) = delete;

  int port() const { return port_; }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_) + "/v1"; }
  std::vector<SeenRequest> requests() const;
  int connections() const { return connections_; }
  // Called for each request, before its script.
  std::function<void(std::size_t number, const SeenRequest&)> on_request;

 private:
  void accept_all();
  void serve(int fd);
  const std::vector<Script> scripts_;
  int listener_ = -1, port_ = 0;
  std::atomic<bool> stopping_ = false;
  std::atomic<int> connections_ = 0;
  mutable std::mutex mutex_;
  std::vector<SeenRequest> requests_;
  std::list<std::thread> threads_;
  std::thread acceptor_;
};

// A port on which nothing listens.
int unused_port();

// A port that listens, accepts nobody and has no room left for those who wait: connecting to it never ends.
class FullListener {
 public:
  FullListener();
  ~FullListener();
  FullListener(const FullListener&) = delete;
  FullListener& operator=(const FullListener&) = delete;
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_) + "/v1"; }

 private:
  int port_ = 0;
  std::vector<int> sockets_;
};

// ---- responses -----------------------------------------------------------------------------------

using Headers = std::vector<std::pair<std::string, std::string>>;
// With Content-Length.
std::string whole_response(int status, std::string_view body, std::string_view type = "application/json",
                           const Headers& more = {});
std::string stream_head(const Headers& more = {});  // of a chunked event stream
std::string chunk(std::string_view bytes);          // of a chunked body
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";
// A whole 200 event stream with `body` as its events.
std::string stream_response(std::string_view body, const Headers& more = {});

// Events of a Chat Completions stream that says `text`, in pieces, with usage.
std::string chat_events(std::string_view text, std::size_t piece = 7);
std::string chat_event(std::string_view text);   // one delta
std::string json_string(std::string_view text);  // quoted and escaped

}  // namespace kf::test
