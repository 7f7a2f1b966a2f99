// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <kfactory/error.h>

namespace kf {

// Owns one file descriptor; closes it. Move-only. -1: none.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    reset(std::exchange(other.fd_, -1));
    return *this;
  }
  ~Descriptor() { reset(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  void reset(int fd = -1);

 private:
  int fd_ = -1;
};

// "open /x: No such file or directory", from errno.
Error system_error(std::string_view what);

struct DescriptorPair {
  Descriptor read, write;
};
// Close-on-exec both.
OrError<DescriptorPair> make_pipe();
// A connected pair of stream sockets, close-on-exec; both ends read and write.
OrError<DescriptorPair> make_socket_pair();

// write(2) once, but a reader that went away is EPIPE, never SIGPIPE.
ssize_t write_some(int fd, std::span<const std::byte> bytes);
// Writes everything, going on after short writes and interrupts. A reader that went away is an error, never SIGPIPE.
OrError<void> write_all(int fd, std::span<const std::byte> bytes);
OrError<void> write_all(int fd, std::string_view text);
// What is there, up to `limit` bytes; an empty string at the end of the stream. Blocks when the descriptor does.
OrError<std::string> read_some(int fd, std::size_t limit = 65536);
// Everything until the end of the stream. More than `limit` bytes is an error; the rest is left unread.
OrError<std::string> read_all(int fd, std::size_t limit);

}  // namespace kf
