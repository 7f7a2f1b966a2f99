// SPDX-License-Identifier: Apache-2.0
#include "fault_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <stdexcept>

namespace kf::test {
namespace {

constexpr int kTick = 20;  // milliseconds between looks at `stopping`

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  return address;
}

int bound_socket(int& port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = loopback(0);
  socklen_t length = sizeof address;
  if (fd < 0 || ::bind(fd, reinterpret_cast<sockaddr*>(&address), length) != 0 ||
      ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    throw std::runtime_error("no loopback port");
  }
  port = ntohs(address.sin_port);
  return fd;
}

std::size_t content_length(const std::string& head) {
  for (std::size_t at = head.find("\r\n"); at != std::string::npos; at = head.find("\r\n", at + 2)) {
    constexpr std::string_view kName = "content-length:";
    if (::strncasecmp(head.c_str() + at + 2, kName.data(), kName.size()) == 0) {
      return std::strtoul(head.c_str() + at + 2 + kName.size(), nullptr, 10);
    }
  }
  return 0;
}

}  // namespace

bool Connection::send(std::string_view bytes) {
  while (open_ && !bytes.empty() && !stopping_) {
    const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN) {
      pollfd poll_fd{fd_, POLLOUT, 0};
      ::poll(&poll_fd, 1, kTick);
    } else if (errno != EINTR) {
      return false;
    }
  }
  return open_ && bytes.empty();
}

bool Connection::send_in_pieces(std::string_view bytes, std::size_t piece) {
  for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size()))) {
    if (!send(bytes.substr(0, piece))) {
      return false;
    }
  }
  return true;
}

void Connection::stall() {
  while (open_ && !stopping_) {
    pollfd poll_fd{fd_, POLLIN, 0};
    char byte = 0;
    if (::poll(&poll_fd, 1, kTick) > 0 && ::recv(fd_, &byte, 1, 0) <= 0) {
      return;
    }
  }
}

void Connection::pause(int milliseconds) {
  for (; milliseconds > 0 && !stopping_; milliseconds -= kTick) {
    std::this_thread::sleep_for(std::chrono::milliseconds(std::min(milliseconds, kTick)));
  }
}

void Connection::reset() {
  const linger now{1, 0};
  ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  open_ = false;  // the server closes the descriptor, which sends the RST
}

void Connection::close() {
  ::shutdown(fd_, SHUT_RDWR);
  open_ = false;
}

void Connection::half_close() {
  ::shutdown(fd_, SHUT_WR);
}

bool Connection::read_request(SeenRequest& request) {
  std::size_t head_end = std::string::npos, body_length = 0;
  while (!stopping_) {
    if (head_end == std::string::npos && (head_end = buffered_.find("\r\n\r\n")) != std::string::npos) {
      request.head = buffered_.substr(0, head_end + 2);
      body_length = content_length(request.head);
    }
    if (head_end != std::string::npos && buffered_.size() >= head_end + 4 + body_length) {
      request.body = buffered_.substr(head_end + 4, body_length);
      buffered_.erase(0, head_end + 4 + body_length);
      return true;
    }
    pollfd poll_fd{fd_, POLLIN, 0};
    if (::poll(&poll_fd, 1, kTick) <= 0) {
      continue;
    }
    char block[65536];
    const ssize_t count = ::recv(fd_, block, sizeof block, 0);
    if (count <= 0) {
      return false;
    }
    buffered_.append(block, static_cast<std::size_t>(count));
  }
  return false;
}

FaultServer::FaultServer(std::vector<Script> scripts) : scripts_(std::move(scripts)) {
  listener_ = bound_socket(port_);
  if (scripts_.empty() || ::listen(listener_, 64) != 0) {
    throw std::runtime_error("cannot listen, or there is no script");
  }
  acceptor_ = std::thread([this] { accept_all(); });
}

FaultServer::~FaultServer() {
  stopping_ = true;
  acceptor_.join();
  for (std::thread& thread : threads_) {
    thread.join();
  }
  ::close(listener_);
}

std::vector<SeenRequest> FaultServer::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

void FaultServer::accept_all() {
  while (!stopping_) {
    pollfd poll_fd{listener_, POLLIN, 0};
    if (::poll(&poll_fd, 1, kTick) <= 0) {
      continue;
    }
    const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd >= 0) {
      ++connections_;
      threads_.emplace_back([this, fd] { serve(fd); });
    }
  }
}

void FaultServer::serve(int fd) {
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  Connection connection(fd, stopping_);
  for (SeenRequest request; connection.is_open() && connection.read_request(request);) {
    std::size_t number = 0;
    {
      const std::lock_guard lock(mutex_);
      number = requests_.size();
      requests_.push_back(request);
    }
    if (on_request) {
      on_request(number, request);
    }
    scripts_[std::min(number, scripts_.size() - 1)](connection);
  }
  ::close(fd);
}

int unused_port() {
  int port = 0;
  ::close(bound_socket(port));
  return port;
}

FullListener::FullListener() {
  sockets_.push_back(bound_socket(port_));
  if (::listen(sockets_.front(), 0) != 0) {
    throw std::runtime_error("cannot listen");
  }
  for (int i = 0; i < 8; ++i) {  // the first fills the queue; the kernel drops what the others send
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const sockaddr_in address = loopback(port_);
    (void)::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    sockets_.push_back(fd);
  }
}

FullListener::~FullListener() {
  for (const int fd : sockets_) {
    ::close(fd);
  }
}

std::string whole_response(int status, std::string_view body, std::string_view type, const Headers& more) {
  std::string response = "HTTP/1.1 " + std::to_string(status) + " Status\r\nContent-Type: " + std::string(type) +
                         "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
  for (const auto& [name, value] : more) {
    response += name + ": " + value + "\r\n";
  }
  return response.append("\r\n").append(body);
}

std::string stream_head(const Headers& more) {
  std::string head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n";
  for (const auto& [name, value] : more) {
    head += name + ": " + value + "\r\n";
  }
  return head + "\r\n";
}

std::string chunk(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string length;
  for (std::size_t left = bytes.size(); left > 0; left /= 16) {
    length.insert(length.begin(), kDigits[left % 16]);
  }
  return length.append("\r\n").append(bytes).append("\r\n");
}

std::string stream_response(std::string_view body, const Headers& more) {
  return stream_head(more) + (body.empty() ? std::string() : chunk(body)) + std::string(kLastChunk);
}

std::string json_string(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted.append("\\").append(1, c);
    } else if (byte < 0x20) {
      quoted.append("\\u00").append(1, kDigits[byte >> 4]).append(1, kDigits[byte & 15]);
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

std::string chat_event(std::string_view text) {
  return R"(data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m-1","choices":[{"index":0,"delta":{"content":)" +
         json_string(text) + R"(},"finish_reason":null}]})" + "\n\n";
}

std::string chat_events(std::string_view text, std::size_t piece) {
  std::string events =
      R"(data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m-1","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]})"
      "\n\n";
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = std::min(text.size(), at + piece);
    while (end < text.size() &&
           (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) {  // JSON strings hold whole characters
      ++end;
    }
    events += chat_event(text.substr(at, end - at));
    at = end;
  }
  const std::string output = std::to_string((text.size() + 3) / 4);
  events +=
      R"(data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m-1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]})"
      "\n\n";
  events +=
      R"(data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m-1","choices":[],"usage":{"prompt_tokens":11,"completion_tokens":)" +
      output + R"(,"total_tokens":)" + std::to_string(11 + (text.size() + 3) / 4) + "}}\n\n";
  return events + "data: [DONE]\n\n";
}

}  // namespace kf::test
