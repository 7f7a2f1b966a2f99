// SPDX-License-Identifier: Apache-2.0
#include "rig/supervisor.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "format/outcome_json.h"
#include "rig/orphans.h"

namespace kf {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::size_t kReadBytes = 1 << 16;  // what a pipe holds

enum class Got : std::uint8_t { kSome, kNothingNow, kEnd };
Got read_now(int fd, Bytes& into) {
  into.resize(kReadBytes);
  for (;;) {
    const ssize_t count = ::read(fd, into.data(), into.size());
    if (count > 0) {
      into.resize(static_cast<std::size_t>(count));
      return Got::kSome;
    }
    if (count == 0 || (errno != EINTR && errno != EAGAIN)) {
      return Got::kEnd;
    }
    if (errno == EAGAIN) {
      return Got::kNothingNow;
    }
  }
}

// What a child prints is for people at most: control characters could drive their terminal.
void make_harmless(Bytes& text) {
  for (std::byte& byte : text) {
    const auto c = std::to_integer<unsigned char>(byte);
    if ((c < 32 && c != '\n' && c != '\t') || c == 127) {
      byte = std::byte{'?'};
    }
  }
}

// Never blocks: a reader that does not read loses the text.
void write_stderr(std::span<const std::byte> text) {
  constexpr std::size_t kAtOnce = 4096;  // PIPE_BUF: what a pipe that polls writable takes without blocking
  while (!text.empty()) {
    pollfd ready{STDERR_FILENO, POLLOUT, 0};
    if (::poll(&ready, 1, 0) != 1 || (ready.revents & POLLOUT) == 0) {
      return;
    }
    const ssize_t count = ::write(STDERR_FILENO, text.data(), std::min(kAtOnce, text.size()));
    if (count <= 0) {
      return;
    }
    text = text.subspan(static_cast<std::size_t>(count));
  }
}

}  // namespace

Supervisor::Supervisor(const WorkerOptions& options, const DeviceOpener& open_device, int in, Descriptor out)
    : options_(options), open_device_(open_device), in_(in), out_(std::move(out)) {}

int Supervisor::run() {
  Job describe;  // number 0: its outcome is the hello
  describe.kind = Job::Kind::kDescribe;
  describe.deadline = options_.describe_deadline;
  waiting_.push_back(job_message(0, describe));
  while (!factory_gone_) {
    if (!active_ && !waiting_.empty()) {
      begin_next();
      continue;
    }
    keep_warm();
    std::vector<pollfd> fds = descriptors();
    const int ready = ::poll(fds.data(), fds.size(), static_cast<int>(time_left().count()));
    if (ready < 0 && errno != EINTR) {
      return 1;
    }
    if ((fds[0].revents & (POLLIN | POLLHUP | POLLERR)) != 0 && !read_input()) {
      break;
    }
    if (warm_) {
      pass_on_log(*warm_);
    }
    if (active_) {
      pass_on_log(active_->child);
      send_job();
      read_child();
    }
    note_exit();
    if (active_ && active_->deadline.over(steady_clock::now())) {
      miss_deadline();
    }
  }
  warm_.reset();
  end_active();
  return exit_code_;
}

std::optional<Supervisor::Child> Supervisor::new_child() {
  auto job = start_job_child(options_, open_device_);
  if (!job) {
    return std::nullopt;
  }
  return Child{*std::move(job), options_.log_bytes_per_job};
}

void Supervisor::begin_next() {
  Message message = std::move(waiting_.front());
  waiting_.pop_front();
  warm_failed_ = false;
  std::optional<Child> child = warm_ ? std::exchange(warm_, std::nullopt) : new_child();
  if (!child) {
    (void)tell(outcome_message(message.job, Fault{Fault::Kind::kRig, "no_process", "no job process could be forked"}));
    return;
  }
  const Time now = steady_clock::now();
  active_ = Active{message.job,
                   *std::move(child),
                   Blame(now),
                   Deadline(now + message.deadline),
                   message.measures,
                   message.deadline,
                   {},
                   0,
                   {}};
  if (auto frame = encode_frame(to_frame(message))) {
    active_->unsent = *std::move(frame);
  }
  send_job();
}

// Not during a measurement, which a context that is being made would disturb. Beside a check it costs nothing but a
// little of the check's time, and the next job finds its device open.
void Supervisor::keep_warm() {
  if (!(active_ && active_->measures) && !warm_ && !warm_failed_) {
    warm_ = new_child();
    warm_failed_ = !warm_;
  }
}

std::vector<pollfd> Supervisor::descriptors() {
  std::vector<pollfd> fds{{in_, POLLIN, 0}};
  if (active_) {
    fds.push_back({active_->child.job.from.get(), POLLIN, 0});
    fds.push_back({active_->child.job.process.err().get(), POLLIN, 0});
    fds.push_back({active_->child.job.process.pidfd(), POLLIN, 0});
    if (active_->sent < active_->unsent.size()) {
      fds.push_back({active_->child.job.to.get(), POLLOUT, 0});
    }
  }
  if (warm_) {
    fds.push_back({warm_->job.process.err().get(), POLLIN, 0});
    fds.push_back({warm_->job.process.pidfd(), POLLIN, 0});
  }
  return fds;
}

milliseconds Supervisor::time_left() const {
  if (!active_) {
    return milliseconds(-1);
  }
  const Time now = steady_clock::now();
  const auto left = std::chrono::ceil<milliseconds>(active_->deadline.end(now) - now);
  return std::clamp(left, milliseconds(0), milliseconds(1'000'000));
}

bool Supervisor::read_input() {
  Bytes bytes;
  if (read_now(in_, bytes) == Got::kEnd) {
    exit_code_ = input_.pending() == 0 ? 0 : 1;
    return false;
  }
  input_.feed(bytes);
  for (;;) {
    auto frame = input_.next();
    if (!frame) {
      exit_code_ = 1;
      return false;
    }
    if (!*frame) {
      return true;
    }
    auto message = read_message(**std::move(frame));
    if (!message) {
      exit_code_ = 1;
      return false;
    }
    obey(*std::move(message));
  }
}

void Supervisor::obey(Message message) {
  if (message.kind == MessageKind::kJob && message.job != 0) {
    waiting_.push_back(std::move(message));
  } else if (message.kind == MessageKind::kCancel) {
    cancel(message.job);
  }
}

void Supervisor::cancel(std::uint64_t number) {
  const Fault cancelled{Fault::Kind::kRig, "cancelled", "the factory asked for it"};
  if (active_ && active_->number == number && number != 0) {
    return finish(cancelled);
  }
  if (std::erase_if(waiting_, [&](const Message& message) { return message.job == number && number != 0; }) > 0) {
    (void)tell(outcome_message(number, cancelled));
  }
}

void Supervisor::send_job() {
  while (active_->sent < active_->unsent.size()) {
    const ssize_t count = ::write(active_->child.job.to.get(), active_->unsent.data() + active_->sent,
                                  active_->unsent.size() - active_->sent);
    if (count <= 0) {
      if (count < 0 && errno == EINTR) {
        continue;
      }
      return;  // full, or the child is gone: poll says which
    }
    active_->sent += static_cast<std::size_t>(count);
  }
  active_->unsent = {};
  active_->sent = 0;
}

void Supervisor::read_child() {
  Bytes bytes;
  while (active_ && read_now(active_->child.job.from.get(), bytes) == Got::kSome) {
    active_->reader.feed(bytes);
    for (;;) {
      auto frame = active_->reader.next();
      if (frame && !*frame) {
        break;
      }
      auto message = frame ? read_message(**std::move(frame)) : OrError<Message>(std::unexpected(frame.error()));
      if (!message || message->job != active_->number) {
        const std::string why = message ? "a message of another job" : to_string(message.error());
        return finish(active_->blame.at_once("garbage", "the job's process sent what is no answer (" + why + ")"));
      }
      if (message->kind == MessageKind::kOutcome) {
        return finish(*std::move(message));
      }
      if (message->kind == MessageKind::kProgress) {
        const Time now = steady_clock::now();
        active_->blame.enter(message->phase == "candidate", now);
        active_->deadline.wait(message->phase == kWaitingPhase, now);
        (void)tell(*message);
      }
    }
  }
}

void Supervisor::note_exit() {
  if (warm_ && warm_->job.process.wait(milliseconds(0))) {
    warm_.reset();  // the next job gets a new one, whose failure is then that job's
    warm_failed_ = true;
  }
  if (!active_) {
    return;
  }
  const std::optional<ChildExit> exit = active_->child.job.process.wait(milliseconds(0));
  if (!exit) {
    return;
  }
  read_child();  // what it wrote before it ended
  if (!active_) {
    return;
  }
  if (exit->signal == SIGKILL) {  // from outside, or the kernel's when memory ran out
    finish(active_->blame.at_once("killed", "the job's process ended with " + to_string(*exit)));
  } else if (active_->reader.pending() > 0) {
    finish(active_->blame.at_once("half_frame", "the job's process ended (" + to_string(*exit) + ") within a frame"));
  } else if (exit->ok()) {
    finish(active_->blame.at_once("vanished", "the job's process ended without an answer"));
  } else {
    finish(active_->blame.at_once("crash", "the job's process ended with " + to_string(*exit)));
  }
}

void Supervisor::miss_deadline() {
  const std::string late = "the job was not done after " + std::to_string(active_->allowed.count()) + " ms";
  if (active_->child.job.process.is_stopped()) {  // kernels cannot do that
    return finish(Fault{Fault::Kind::kRig, "stopped", late + ": a signal from outside had stopped its process"});
  }
  finish(active_->blame.at_deadline(late, steady_clock::now()));
}

void Supervisor::pass_on_log(Child& child) {
  Bytes text;
  // One read a turn: a child that prints without end must not keep the loop from its deadline.
  if (read_now(child.job.process.err().get(), text) == Got::kSome && child.log_left > 0) {
    text.resize(std::min<std::size_t>(text.size(), static_cast<std::size_t>(child.log_left)));
    child.log_left -= static_cast<std::int64_t>(text.size());
    make_harmless(text);
    write_stderr(text);
  }
}

void Supervisor::end_active() {
  std::optional<ScratchFolder> scratch;  // goes last: orphans could still write into it
  if (active_) {
    scratch = std::move(active_->child.job.scratch);
  }
  active_.reset();  // kills the group and reaps the child
  end_orphans(warm_ ? std::vector<pid_t>{warm_->job.process.pid()} : std::vector<pid_t>{});
}

void Supervisor::finish(const Outcome& outcome) {
  finish(outcome_message(active_->number, outcome));
}

void Supervisor::finish(Message outcome) {
  pass_on_log(active_->child);
  end_active();
  if (outcome.job == 0) {
    auto described = decode_outcome(outcome.body, outcome.blob);
    const Fault unreadable{Fault::Kind::kRig, "garbage", "the device's description could not be read"};
    outcome = hello_message({kProtocolVersion, options_.version, described ? *described : Outcome(unreadable)});
  }
  (void)tell(outcome);
}

bool Supervisor::tell(const Message& message) {
  const OrError<Bytes> bytes = encode_frame(to_frame(message));
  factory_gone_ = factory_gone_ || !bytes || !write_all(out_.get(), *bytes);
  return !factory_gone_;
}

}  // namespace kf
