// SPDX-License-Identifier: Apache-2.0
#include "os/interrupt.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace kf {
namespace {

// What the handler can see: a signal handler has no argument to hang an object on.
std::atomic<int> handler_pipe{-1};
struct sigaction old_interrupt, old_terminate, old_hangup;

void on_signal(int number) {
  const int saved = errno;
  const auto byte = static_cast<unsigned char>(number);
  (void)!::write(handler_pipe.load(), &byte, 1);
  errno = saved;
}

}  // namespace

InterruptBridge::InterruptBridge() {
  OrError<DescriptorPair> pipe = make_pipe();
  if (!pipe) {
    throw Fatal(to_string(pipe.error()));
  }
  pipe_ = std::move(*pipe);
  int expected = -1;
  if (!handler_pipe.compare_exchange_strong(expected, pipe_.write.get())) {
    throw Fatal("SIGINT and SIGTERM have an InterruptBridge already");
  }
  reader_ = std::jthread([this] {
    const OrError<std::string> byte = read_some(pipe_.read.get(), 1);
    if (byte && byte->size() == 1 && (*byte)[0] != 0) {
      signal_.store(static_cast<unsigned char>((*byte)[0]));
      stop_.request_stop();
    }
  });
  struct sigaction action{};
  action.sa_handler = on_signal;
  action.sa_flags = static_cast<int>(SA_RESTART | SA_RESETHAND);  // the second one finds the default action
  ::sigaction(SIGINT, &action, &old_interrupt);
  ::sigaction(SIGTERM, &action, &old_terminate);
  ::sigaction(SIGHUP, nullptr, &old_hangup);
  if (old_hangup.sa_handler != SIG_IGN) {
    ::sigaction(SIGHUP, &action, nullptr);
  }
}

InterruptBridge::~InterruptBridge() {
  ::sigaction(SIGINT, &old_interrupt, nullptr);
  ::sigaction(SIGTERM, &old_terminate, nullptr);
  ::sigaction(SIGHUP, &old_hangup, nullptr);
  handler_pipe.store(-1);
  (void)write_all(pipe_.write.get(), std::string_view("\0", 1));
  reader_.join();
}

void ignore_broken_pipes() {
  struct sigaction action{};
  action.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &action, nullptr);
  ::sigaction(SIGXFSZ, &action, nullptr);
}

void fill_standard_streams() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) < 0 && errno == EBADF) {
      (void)::open("/dev/null", fd == STDIN_FILENO ? O_RDONLY : O_WRONLY);  // the lowest free number: fd
    }
  }
}

}  // namespace kf
