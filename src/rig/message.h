// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include <kfactory/device_facts.h>
#include <kfactory/job.h>

#include "rig/frame.h"

namespace kf {

inline constexpr int kProtocolVersion = 1;
inline constexpr std::string_view kWaitingPhase = "waiting";

// docs/formats/worker-protocol.md is the specification.
enum class MessageKind : std::uint8_t { kHello, kJob, kProgress, kOutcome, kCancel };

struct Message {
  MessageKind kind = MessageKind::kHello;
  std::uint64_t job = 0;                  // number that the factory gave; 0 in kHello
  std::chrono::milliseconds deadline{0};  // kJob
  bool measures = true;                   // kJob: nothing else may happen on the device meanwhile
  // kProgress: "candidate" while its kernels may run, "waiting" while another process has the device, else "rig".
  std::string phase;
  std::string body;  // JSON: kHello, kJob, kOutcome
  Bytes blob;
};

Frame to_frame(const Message& message);
OrError<Message> read_message(Frame frame);

// First message of a worker. Without facts the device could not be opened, and `fault` says why.
struct Hello {
  int protocol = kProtocolVersion;
  std::string version;
  Outcome described;  // DeviceFacts or Fault
};
Message hello_message(const Hello& hello);
OrError<Hello> read_hello(const Message& message);

Message job_message(std::uint64_t number, const Job& job);
Message outcome_message(std::uint64_t number, const Outcome& outcome);
Message progress_message(std::uint64_t number, std::string phase);

}  // namespace kf
