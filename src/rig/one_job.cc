// SPDX-License-Identifier: Apache-2.0
#include <signal.h>
#include <unistd.h>

#include "format/job_json.h"
#include "os/atomic_file.h"
#include "rig/job_child.h"
#include "rig/message.h"
#include "rig/worker.h"

namespace kf {
namespace {

OrError<Message> message_in(const std::string& path) {
  const auto bytes = read_file(path, std::uint64_t{kMaxFrameJson} + kMaxFrameBlob + 8);
  if (!bytes) {
    return std::unexpected(bytes.error());
  }
  FrameReader reader;
  reader.feed(std::as_bytes(std::span(*bytes)));
  auto frame = reader.next();
  if (!frame) {
    return std::unexpected(frame.error());
  }
  if (!*frame) {
    return std::unexpected(Error{path, "is not a whole frame",
                                 "it was cut off while it was written (is the disk full?), or is no job: run again"});
  }
  return read_message(**std::move(frame));
}

Outcome outcome_of(const std::string& job_path, const DeviceOpener& open_device) {
  const OrError<Message> message = message_in(job_path);
  const auto job = message ? decode_job(message->body, message->blob) : std::unexpected(message.error());
  if (!job) {
    return Fault{Fault::Kind::kRig, "garbage", "the job could not be read: " + to_string(job.error())};
  }
  OrFault<std::unique_ptr<Device>> device = open_device([](bool) {});
  if (!device) {
    return Fault{Fault::Kind::kRig, std::string(to_string(device.error().kind)),
                 "the device could not be opened: " + device.error().detail};
  }
  Outcome outcome = perform_job(*job, **device, [](bool) {});
  // Kept, not closed: a destructor could hang on what the candidate left behind; the process ends now.
  [[maybe_unused]] static const Device* volatile left_open = device->release();
  return outcome;
}

}  // namespace

int one_job_main(const std::string& job_path, const std::string& answer_path, const DeviceOpener& open_device) {
  ::signal(SIGPIPE, SIG_IGN);
  const OrError<Bytes> frame = encode_frame(to_frame(outcome_message(1, outcome_of(job_path, open_device))));
  return frame && write_file_atomically(answer_path, *frame, Durable::kLater) ? 0 : 1;
}

}  // namespace kf
