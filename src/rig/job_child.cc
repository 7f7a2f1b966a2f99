// SPDX-License-Identifier: Apache-2.0
#include "rig/job_child.h"

#include <fcntl.h>

#include <span>

#include "format/job_json.h"
#include "os/steady_clock.h"
#include "rig/message.h"

namespace kf {
namespace {

constexpr int kJobIn = 3, kJobOut = 4;

Fault device_fault(const DeviceFault& fault) {
  return {Fault::Kind::kRig, std::string(to_string(fault.kind)), "the device could not be opened: " + fault.detail};
}

void send(const Message& message) {
  OrError<Bytes> bytes = encode_frame(to_frame(message));
  if (!bytes) {
    const Fault too_large{Fault::Kind::kRig, "garbage", "the outcome is too large: " + to_string(bytes.error())};
    bytes = encode_frame(to_frame(outcome_message(message.job, too_large)));
  }
  // A supervisor that went away kills this process anyway.
  (void)write_all(kJobOut, *bytes);
}

std::optional<Message> receive_job() {
  FrameReader reader;
  for (;;) {
    auto bytes = read_some(kJobIn, 1 << 20);
    if (!bytes || bytes->empty()) {
      return std::nullopt;
    }
    reader.feed(std::as_bytes(std::span(*bytes)));
    auto frame = reader.next();
    if (!frame) {
      return std::nullopt;
    }
    if (*frame) {
      auto message = read_message(**std::move(frame));
      return message ? std::optional(*std::move(message)) : std::nullopt;
    }
  }
}

Cost wall_time(std::string step, std::chrono::steady_clock::time_point since) {
  return {std::move(step), std::chrono::duration<double, std::milli>(SteadyClock().now() - since).count(), 1};
}

Outcome outcome_of(const Message& message, OrFault<std::unique_ptr<Device>>& device, const Cost& opening,
                   const SanitizerOptions& sanitizer, const ScratchFolder& scratch) {
  const auto start = SteadyClock().now();
  auto job = decode_job(message.body, message.blob);
  if (job && job->kind == Job::Kind::kSanitize) {
    return run_sanitizer(*job, sanitizer, scratch);  // in children with devices of their own
  }
  if (!device) {
    return device_fault(device.error());
  }
  if (!job) {
    return Fault{Fault::Kind::kRig, "garbage", "the job could not be read: " + to_string(job.error())};
  }
  const std::vector<Cost> before{opening, wall_time("read the job", start)};
  Outcome outcome = perform_job(
      *job, **device, [&](bool candidate) { send(progress_message(message.job, candidate ? "candidate" : "rig")); });
  add_costs(outcome, before);
  return outcome;
}

// When this machine runs out of memory, the kernel is to end this process, not the supervisor or the factory.
void go_first_when_memory_runs_out() {
  const Descriptor score(::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
  if (score) {
    (void)write_all(score.get(), std::as_bytes(std::span("1000", 4)));
  }
}

int child_main(const WorkerOptions& options, const DeviceOpener& open_device, const ScratchFolder& scratch) {
  const bool open_ahead = options.open_ahead;
  go_first_when_memory_runs_out();
  OrFault<std::unique_ptr<Device>> device = nullptr;
  Cost opening;
  std::uint64_t number = 0;
  const WaitObserver waits = [&number](bool yes) {
    send(progress_message(number, std::string(yes ? kWaitingPhase : "rig")));
  };
  const auto open = [&](std::string step) {
    const auto start = SteadyClock().now();
    device = open_device(waits);
    opening = wall_time(std::move(step), start);
  };
  if (open_ahead) {
    open("open the device (before the job came)");
  }
  const std::optional<Message> message = receive_job();
  if (!message) {
    return 0;
  }
  number = message->job;
  if (!open_ahead) {
    open("open the device");
  }
  send(outcome_message(message->job, outcome_of(*message, device, opening, options.sanitizer, scratch)));
  // The driver tears the context down with the process; destructors could hang on what the candidate left behind.
  ::_exit(0);
}

}  // namespace

OrError<JobChild> start_job_child(const WorkerOptions& options, const DeviceOpener& open_device) {
  OrError<DescriptorPair> to = make_pipe();
  OrError<DescriptorPair> from = make_pipe();
  if (!to || !from) {
    return std::unexpected(to ? from.error() : to.error());
  }
  ChildOptions child;
  child.inherit_environment = true;  // the supervisor's own was cleaned by the factory
  child.out = Stream::kToStderr;
  child.err = Stream::kPipe;
  child.descriptors = {{to->read.get(), kJobIn}, {from->write.get(), kJobOut}};
  child.die_with_parent = true;
  ScratchFolder scratch(options.sanitizer.scratch);
  auto process = ChildProcess::fork(child, [&] { return child_main(options, open_device, scratch); });
  if (!process) {
    return std::unexpected(process.error());
  }
  for (const int fd : {to->write.get(), from->read.get(), process->err().get()}) {
    ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
  }
  return JobChild{std::move(scratch), std::move(*process), std::move(to->write), std::move(from->read)};
}

}  // namespace kf
