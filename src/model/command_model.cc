// SPDX-License-Identifier: Apache-2.0
#include "command_model.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <string_view>

#include "api_error.h"
#include "call_text.h"
#include "os/child_process.h"
#include "os/stop_descriptor.h"

namespace kf {
namespace {

using Kind = ModelError::Kind;
using Milliseconds = std::chrono::milliseconds;
constexpr std::size_t kLargestReply = 16u << 20, kKeptStderr = 4096;

enum class End { kClosed, kDeadline, kStopped, kTooLarge };

// Feeds stdin and collects stdout and stderr at the same time: neither side can block the other.
class Conversation {
 public:
  Conversation(ChildProcess& child, std::string input) : child_(child), input_(std::move(input)) {
    for (const int fd : {child_.out().get(), child_.err().get()}) {
      fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    }
  }

  End run(std::chrono::steady_clock::time_point deadline, const Clock& clock, const std::stop_token& stop) {
    const StopDescriptor stopped(stop);
    while (child_.out() || child_.err()) {
      const auto left = std::chrono::ceil<Milliseconds>(deadline - clock.now());
      if (left.count() <= 0) {
        return End::kDeadline;
      }
      pollfd fds[] = {{child_.in().get(), POLLOUT, 0},
                      {child_.out().get(), POLLIN, 0},
                      {child_.err().get(), POLLIN, 0},
                      {stopped.get(), POLLIN, 0}};
      if (poll(fds, 4, static_cast<int>(std::min<std::int64_t>(left.count(), 60'000))) < 0 && errno != EINTR) {
        return End::kClosed;
      }
      if (stop.stop_requested()) {
        return End::kStopped;
      }
      if (fds[0].revents != 0) {
        feed();
      }
      if (fds[1].revents != 0) {
        collect(child_.out(), output);
      }
      if (fds[2].revents != 0) {
        collect(child_.err(), errors);
        errors.erase(0, errors.size() - std::min(errors.size(), kKeptStderr));
      }
      if (output.size() > kLargestReply) {
        return End::kTooLarge;
      }
    }
    return End::kClosed;
  }

  std::string output, errors;  // of `errors` the end

 private:
  // A pipe that poll calls writable takes PIPE_BUF bytes without blocking.
  void feed() {
    const std::string_view piece = std::string_view(input_).substr(fed_, PIPE_BUF);
    fed_ += piece.size();
    if (!write_all(child_.in().get(), piece) || fed_ == input_.size()) {  // a program need not read its stdin
      child_.in().reset();
    }
  }

  static void collect(Descriptor& from, std::string& into) {
    char block[65536];
    const ssize_t count = read(from.get(), block, sizeof block);
    if (count > 0) {
      into.append(block, static_cast<std::size_t>(count));
    } else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
      from.reset();
    }
  }

  ChildProcess& child_;
  const std::string input_;
  std::size_t fed_ = 0;
};

class CommandModel : public Model {
 public:
  CommandModel(std::vector<std::string> argv, Milliseconds deadline, Clock& clock)
      : argv_(std::move(argv)), deadline_(deadline), clock_(clock) {}

  std::expected<Reply, ModelError> ask(const ModelCall& call, std::stop_token stop) override {
    const auto start = clock_.now();
    OrError<ChildProcess> child = ChildProcess::start(options(call));
    if (!child) {
      return std::unexpected(ModelError{Kind::kUnreachable, to_string(child.error()), false, {}});
    }
    Conversation conversation(*child, markdown_of(call));
    const End end = conversation.run(start + deadline_, clock_, stop);
    if (end != End::kClosed) {
      child->kill();
      return std::unexpected(ended_early(end));
    }
    const auto left = std::chrono::ceil<Milliseconds>(start + deadline_ - clock_.now());
    const std::optional<ChildExit> exit = child->wait(std::max(left, Milliseconds(0)), stop);
    if (!exit) {
      child->kill();
      return std::unexpected(ended_early(stop.stop_requested() ? End::kStopped : End::kDeadline));
    }
    if (!exit->ok()) {
      return std::unexpected(ModelError{
          Kind::kServer, argv_[0] + " ended with " + to_string(*exit) + words_of(conversation.errors), true, {}});
    }
    std::string text = clean_text(conversation.output);
    if (text.find_first_not_of(" \t\r\n") == std::string::npos) {
      return std::unexpected(ModelError{
          Kind::kNoReply, argv_[0] + " wrote nothing to its stdout" + words_of(conversation.errors), true, {}});
    }
    Reply reply = plain_reply(std::move(text), call, argv_[0]);
    reply.latency = std::chrono::duration_cast<Milliseconds>(clock_.now() - start);
    return reply;
  }

  std::string description() const override { return "command " + argv_[0]; }  // arguments may hold what is private

 private:
  ChildOptions options(const ModelCall& call) const {
    ChildOptions options{.argv = argv_, .in = Stream::kPipe, .out = Stream::kPipe, .err = Stream::kPipe};
    options.environment = environment_where([](std::string_view name) { return !name.starts_with("KFACTORY_"); });
    options.environment.push_back("KFACTORY_ROLE=" + std::string(to_string(call.role)));
    options.environment.push_back("KFACTORY_ORDINAL=" + std::to_string(call.ordinal));
    options.environment.push_back("KFACTORY_MAX_OUTPUT_TOKENS=" + std::to_string(call.max_output_tokens));
    return options;
  }

  static std::string words_of(const std::string& errors) {
    const std::string line = one_line(errors, 400);
    return line.empty() ? "" : "; it said: " + line;
  }

  ModelError ended_early(End end) const {
    switch (end) {
      case End::kStopped:
        return {Kind::kCancelled, "stopped while " + argv_[0] + " worked", true, {}};
      case End::kTooLarge:
        return {Kind::kProtocol, argv_[0] + " wrote more than 16 MiB", true, {}};
      default:
        return {Kind::kTimeout,
                argv_[0] + " had not ended after " + std::to_string(deadline_.count()) + " ms (timeouts.total)",
                true,
                {}};
    }
  }

  const std::vector<std::string> argv_;
  const Milliseconds deadline_;
  Clock& clock_;
};

}  // namespace

std::unique_ptr<Model> command_model(std::vector<std::string> argv, Milliseconds deadline, Clock& clock) {
  return std::make_unique<CommandModel>(std::move(argv), deadline, clock);
}

}  // namespace kf
