// SPDX-License-Identifier: Apache-2.0
#include "os/descriptor.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>

namespace kf {
namespace {

// Pipes have no MSG_NOSIGNAL: SIGPIPE is held back for this thread, and one that our write raised is taken away.
class HeldBrokenPipe {
 public:
  HeldBrokenPipe() {
    ::sigemptyset(&pipe_);
    ::sigaddset(&pipe_, SIGPIPE);
    ::sigset_t pending;
    ::sigpending(&pending);
    was_pending_ = ::sigismember(&pending, SIGPIPE) == 1;
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~HeldBrokenPipe() {
    const int saved = errno;
    if (!was_pending_) {
      const timespec now{};
      while (::sigtimedwait(&pipe_, nullptr, &now) < 0 && errno == EINTR) {
      }
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = saved;
  }
  HeldBrokenPipe(const HeldBrokenPipe&) = delete;
  HeldBrokenPipe& operator=(const HeldBrokenPipe&) = delete;

 private:
  ::sigset_t pipe_{}, before_{};
  bool was_pending_ = false;
};

}  // namespace

void Descriptor::reset(int fd) {
  if (fd_ >= 0) {
    ::close(fd_);  // never retried: the descriptor is gone even when close reports an error
  }
  fd_ = fd;
}

Error system_error(std::string_view what) {
  return Error{"", std::string(what) + ": " + std::strerror(errno), ""};
}

OrError<DescriptorPair> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return std::unexpected(system_error("pipe"));
  }
  return DescriptorPair{Descriptor(ends[0]), Descriptor(ends[1])};
}

OrError<DescriptorPair> make_socket_pair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return std::unexpected(system_error("socketpair"));
  }
  return DescriptorPair{Descriptor(ends[0]), Descriptor(ends[1])};
}

ssize_t write_some(int fd, std::span<const std::byte> bytes) {
  const HeldBrokenPipe held;
  return ::write(fd, bytes.data(), bytes.size());
}

OrError<void> write_all(int fd, std::span<const std::byte> bytes) {
  const HeldBrokenPipe held;
  while (!bytes.empty()) {
    const ssize_t wrote = ::write(fd, bytes.data(), bytes.size());
    if (wrote < 0) {
      if (errno == EINTR) {
        continue;
      }
      return std::unexpected(system_error("write"));
    }
    bytes = bytes.subspan(static_cast<std::size_t>(wrote));
  }
  return {};
}

OrError<void> write_all(int fd, std::string_view text) {
  return write_all(fd, std::as_bytes(std::span(text.data(), text.size())));
}

OrError<std::string> read_some(int fd, std::size_t limit) {
  std::string text(limit, '\0');
  ssize_t got = -1;
  do {
    got = ::read(fd, text.data(), text.size());
  } while (got < 0 && errno == EINTR);
  if (got < 0) {
    return std::unexpected(system_error("read"));
  }
  text.resize(static_cast<std::size_t>(got));
  return text;
}

OrError<std::string> read_all(int fd, std::size_t limit) {
  std::string text;
  for (;;) {
    OrError<std::string> more = read_some(fd);
    if (!more || more->empty()) {
      return more ? OrError<std::string>(std::move(text)) : more;
    }
    text += *more;
    if (text.size() > limit) {
      return std::unexpected(Error{"", "more than " + std::to_string(limit) + " bytes arrived", ""});
    }
  }
}

}  // namespace kf
