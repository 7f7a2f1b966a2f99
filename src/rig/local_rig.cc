// SPDX-License-Identifier: Apache-2.0
#include "rig/local_rig.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "format/outcome_json.h"
#include "rig/environment.h"

namespace kf {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using Time = steady_clock::time_point;

constexpr std::size_t kTailBytes = 4096;        // of what a worker printed, kept for error messages
constexpr std::int64_t kSlowestLink = 4 << 20;  // bytes a second that a launcher's connection is granted

void make_non_blocking(int fd) {
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
}

Fault rig_fault(std::string reason, std::string what) {
  return {Fault::Kind::kRig, std::move(reason), std::move(what)};
}

// The process that was to describe the device died or talked nonsense; the device itself said nothing.
bool is_accident(const Fault& fault) {
  constexpr std::array<std::string_view, 6> kReasons{"crash", "half_frame", "vanished", "garbage", "killed", "stopped"};
  return std::ranges::find(kReasons, fault.reason) != kReasons.end();
}

}  // namespace

// The pipes to one worker process, and what has come through them.
struct LocalRig::Worker {
  explicit Worker(ChildProcess started) : process(std::move(started)) {
    for (Descriptor* end : {&process.in(), &process.out(), &process.err()}) {
      make_non_blocking(end->get());
    }
  }

  ChildProcess process;
  FrameReader reader;
  Bytes unsent;
  std::size_t sent = 0;
  std::string tail;
  bool gone = false;
  std::string trouble;  // why it is gone, or what it sent that is no message

  void queue(const Message& message) {
    if (auto bytes = encode_frame(to_frame(message))) {
      unsent.insert(unsent.end(), bytes->begin(), bytes->end());
    } else {
      gone = true;
      trouble = "the job is too large: " + to_string(bytes.error());
    }
  }

  void send() {
    while (sent < unsent.size()) {
      const ssize_t count = write_some(process.in().get(), std::span(unsent).subspan(sent));
      if (count > 0) {
        sent += static_cast<std::size_t>(count);
      } else if (errno != EINTR) {
        if (errno != EAGAIN) {
          lost("it no longer reads");
        }
        return;
      }
    }
    unsent.clear();
    sent = 0;
  }

  void receive() {
    std::array<std::byte, 65536> bytes;
    for (;;) {
      const ssize_t count = ::read(process.out().get(), bytes.data(), bytes.size());
      if (count > 0) {
        reader.feed(std::span(bytes).first(static_cast<std::size_t>(count)));
      } else if (count == 0) {
        return lost("its output ended");
      } else if (errno != EINTR) {
        return errno == EAGAIN ? void() : lost("its output cannot be read");
      }
    }
  }

  void receive_tail() {
    std::array<char, 65536> text;
    for (ssize_t count = 0; (count = ::read(process.err().get(), text.data(), text.size())) > 0;) {
      tail.append(text.data(), static_cast<std::size_t>(count));
      tail.erase(0, tail.size() > kTailBytes ? tail.size() - kTailBytes : 0);
    }
  }

  void lost(const std::string& how) {
    gone = true;
    trouble = how;
    if (const auto exit = process.wait(milliseconds(500))) {
      trouble += ", " + to_string(*exit);
    }
    receive_tail();
    if (!tail.empty()) {
      trouble += "; it last printed: " + tail;
    }
  }

  // The next message; nullopt when the time is over, a stop is requested (`stopped` readable) or the worker is gone.
  std::optional<Message> next(Time until, int stopped) {
    for (;;) {
      auto frame = reader.next();
      if (frame && *frame) {
        auto message = read_message(**std::move(frame));
        if (message) {
          return *std::move(message);
        }
        frame = std::unexpected(message.error());
      }
      if (!frame) {
        gone = true;
        trouble = "it sent what is no message: " + to_string(frame.error());
        return std::nullopt;
      }
      if (gone || !wait(until, stopped)) {
        return std::nullopt;
      }
    }
  }

 private:
  bool wait(Time until, int stopped) {
    std::array<pollfd, 4> fds{{{process.out().get(), POLLIN, 0},
                               {process.err().get(), POLLIN, 0},
                               {stopped, POLLIN, 0},
                               {sent < unsent.size() ? process.in().get() : -1, POLLOUT, 0}}};
    const auto left = std::chrono::ceil<milliseconds>(until - steady_clock::now());
    if (left.count() <= 0) {
      return false;
    }
    ::poll(fds.data(), fds.size(), static_cast<int>(std::min<std::int64_t>(left.count(), 1'000'000)));
    if ((fds[1].revents & POLLIN) != 0) {
      receive_tail();
    }
    if (fds[3].revents != 0) {
      send();
    }
    if (fds[0].revents != 0 && !gone) {
      receive();
    }
    return fds[2].revents == 0;
  }
};

LocalRig::LocalRig(RigOptions options) : options_(std::move(options)) {}
LocalRig::~LocalRig() = default;

OrError<std::unique_ptr<LocalRig>> LocalRig::start(RigOptions options, std::stop_token stop) {
  std::unique_ptr<LocalRig> rig(new LocalRig(std::move(options)));
  auto ready = rig->ensure_worker(stop);
  if (!ready && rig->failed_by_accident_ && !stop.stop_requested()) {
    ready = rig->ensure_worker(stop);
  }
  if (!ready) {
    return std::unexpected(ready.error());
  }
  return rig;
}

DeviceFacts LocalRig::facts() const {
  return facts_;
}

pid_t LocalRig::worker_pid() const {
  const std::lock_guard lock(mutex_);
  return worker_ ? worker_->process.pid() : -1;
}

OrError<void> LocalRig::ensure_worker(const std::stop_token& stop) {
  if (worker_) {
    return {};
  }
  failed_by_accident_ = false;
  ChildOptions child;
  child.argv = options_.launcher;
  child.argv.insert(child.argv.end(), options_.worker.begin(), options_.worker.end());
  child.environment = environment_where([this](std::string_view name) {
    return std::ranges::find(options_.secrets, name) == options_.secrets.end() &&
           (options_.launcher.empty() ? worker_may_see(name) : launcher_may_see(name));
  });
  child.in = child.out = child.err = Stream::kPipe;
  auto process = ChildProcess::start(child);
  if (!process) {
    return std::unexpected(process.error());
  }
  auto worker = std::make_unique<Worker>(*std::move(process));
  const StopDescriptor stopped(stop);
  Deadline deadline(steady_clock::now() + options_.start_deadline);
  std::optional<Message> first;
  do {
    first = worker->next(deadline.end(steady_clock::now()), stopped.get());
    if (first) {
      note_progress(*first, deadline);
    }
  } while (first ? first->kind == MessageKind::kProgress : deadline.waits() && !worker->gone && !stop.stop_requested());
  if (!first) {
    failed_by_accident_ = worker->gone;
    const std::string why = worker->gone ? worker->trouble
                            : stop.stop_requested()
                                ? "interrupted"
                                : "no hello after " + std::to_string(options_.start_deadline.count()) + " ms";
    return std::unexpected(Error{"worker", "it did not start: " + why, ""});
  }
  OrError<Hello> hello = read_hello(*first);
  if (!hello) {
    return std::unexpected(hello.error());
  }
  if (!options_.version.empty() && hello->version != options_.version) {
    return std::unexpected(Error{"worker", "it is kfactory " + hello->version + ", this is " + options_.version,
                                 "install the same version on both sides"});
  }
  const auto* facts = std::get_if<DeviceFacts>(&hello->described);
  if (facts == nullptr) {
    const auto* fault = std::get_if<Fault>(&hello->described);
    failed_by_accident_ = fault != nullptr && is_accident(*fault);
    return std::unexpected(Error{"worker", fault != nullptr ? fault->what : "its hello describes no device",
                                 "kfactory doctor says what is missing"});
  }
  if (facts_.kind.empty()) {
    facts_ = *facts;
  } else if (facts_.uuid != facts->uuid) {
    return std::unexpected(Error{"worker",
                                 "the replaced worker has device " + facts->uuid + " instead of " + facts_.uuid,
                                 "name the device (--gpu), so that every worker opens the same one"});
  }
  worker_ = std::move(worker);
  return {};
}

void LocalRig::note_progress(const Message& message, Deadline& deadline) const {
  if (message.kind != MessageKind::kProgress) {
    return;
  }
  const bool waits = message.phase == kWaitingPhase;
  if (waits && !deadline.waits() && options_.waits) {
    options_.waits();
  }
  deadline.wait(waits, steady_clock::now());
}

Outcome LocalRig::run(const Job& job, std::stop_token stop) {
  const std::lock_guard lock(mutex_);
  Outcome outcome = try_once(job, stop);
  const auto* fault = std::get_if<Fault>(&outcome);
  // SIGKILL comes from outside, or from a kernel that is short of memory: whose fault it was shows when it comes again.
  const bool again = fault != nullptr && (fault->kind == Fault::Kind::kRig || fault->reason == "killed");
  if (again && !stop.stop_requested()) {
    outcome = try_once(job, stop);
  }
  return outcome;
}

Outcome LocalRig::try_once(const Job& job, const std::stop_token& stop) {
  if (stop.stop_requested()) {
    return rig_fault("cancelled", "stopped before the job began");
  }
  if (auto ready = ensure_worker(stop); !ready) {
    return rig_fault("vanished", to_string(ready.error()));
  }
  const std::uint64_t number = next_number_++;
  worker_->queue(job_message(number, job));
  worker_->send();
  const milliseconds transfer(static_cast<std::int64_t>(worker_->unsent.size()) * 1000 / kSlowestLink);
  Deadline deadline(steady_clock::now() + job.deadline + options_.grace + transfer);
  StopDescriptor stopped(stop);
  int watched = stopped.get();
  for (;;) {
    std::optional<Message> message = worker_->next(deadline.end(steady_clock::now()), watched);
    if (message && message->kind == MessageKind::kOutcome && message->job == number) {
      auto outcome = decode_outcome(message->body, message->blob);
      return outcome ? *std::move(outcome)
                     : rig_fault("garbage", "the outcome cannot be read: " + to_string(outcome.error()));
    }
    if (message) {  // progress, or what is left of an earlier job
      if (message->job == number) {
        note_progress(*message, deadline);
      }
      continue;
    }
    if (!worker_->gone && stop.stop_requested() && watched >= 0) {
      Message cancel;
      cancel.kind = MessageKind::kCancel;
      cancel.job = number;
      worker_->queue(cancel);
      worker_->send();
      deadline = Deadline(std::min(deadline.end(steady_clock::now()), steady_clock::now() + options_.grace));
      watched = -1;
      continue;
    }
    if (!worker_->gone && deadline.waits()) {
      continue;
    }
    const Fault fault = worker_->gone
                            ? rig_fault("vanished", "the worker is gone: " + worker_->trouble)
                            : rig_fault("timeout", "the worker gave no answer for " +
                                                       std::to_string((job.deadline + options_.grace).count()) +
                                                       " ms and was replaced");
    worker_.reset();  // kills it and its group
    return fault;
  }
}

}  // namespace kf
