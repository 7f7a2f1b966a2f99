// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include <kfactory/device.h>

#include "rig/sanitize.h"

namespace kf {

// Told when a device begins to wait for another process that has it, and when it has it.
using WaitObserver = std::function<void(bool waits)>;
// Opens the device in a job child. Called in a fresh process that has not touched a driver. The device may call the
// observer from any of its verbs.
using DeviceOpener = std::function<OrFault<std::unique_ptr<Device>>(const WaitObserver& waits)>;

struct WorkerOptions {
  std::string version;                        // of this binary; the factory refuses another one
  bool open_ahead = true;                     // the child kept warm opens its device before its job comes
  std::int64_t log_bytes_per_job = 64 << 10;  // of a child's output that is passed on to our stderr
  std::chrono::milliseconds describe_deadline{60'000};
  SanitizerOptions sanitizer;  // of kSanitize jobs; without an argv in it they answer that nothing was run
};

// The supervisor: what `kfactory worker` does. Reads frames from descriptor 0 and answers on what was descriptor 1
// (which then leads to stderr, so that nothing else can write to it). Never opens the device itself: each job runs in
// a forked child whose whole process group is killed at the job's deadline, when it is cancelled, and when
// descriptor 0 ends. Must be called while the process has one thread. Returns the exit code: 0 after the end of
// input, 1 when the other side sent what is no frame.
int worker_main(const WorkerOptions& options, const DeviceOpener& open_device);

// Performs the job in one file (a frame, as a supervisor would get it), writes the answer's frame to the other and
// ends: what a tool that watches a process is given to watch. 0 when there is an answer.
int one_job_main(const std::string& job_path, const std::string& answer_path, const DeviceOpener& open_device);

}  // namespace kf
