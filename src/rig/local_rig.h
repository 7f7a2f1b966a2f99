// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <kfactory/rig.h>

#include "os/child_process.h"
#include "os/stop_descriptor.h"
#include "rig/deadline.h"
#include "rig/message.h"

namespace kf {

struct RigOptions {
  std::vector<std::string> launcher;                  // "srun", ...: put in front of `worker`; may be empty
  std::vector<std::string> secrets;                   // variables that neither launcher nor worker may see
  std::vector<std::string> worker;                    // {"/proc/self/exe", "worker", "--device", "cuda"}
  std::string version;                                // of this binary: the worker's must be equal; empty accepts any
  std::chrono::milliseconds start_deadline{120'000};  // until the worker's hello
  std::chrono::milliseconds grace{10'000};  // that a worker has beyond a job's own deadline, before it is replaced
  std::function<void()> waits;              // another process has the device, and this one waits for it; may be empty
};

// The factory's end of a worker process, on this machine or behind a launcher. A worker that vanished or does not
// answer is replaced; a job that met a rig fault, or whose process got SIGKILL, is tried once more. The worker ends
// with this object.
class LocalRig final : public Rig {
 public:
  // Starts the worker and waits for its hello; a worker that dies before it is started once more. The error quotes the
  // last lines that the worker printed.
  static OrError<std::unique_ptr<LocalRig>> start(RigOptions options, std::stop_token stop = {});
  ~LocalRig() override;

  DeviceFacts facts() const override;
  Outcome run(const Job& job, std::stop_token stop) override;
  // Process number of the supervisor; it changes when it is replaced. For tests.
  pid_t worker_pid() const;

 private:
  explicit LocalRig(RigOptions options);
  struct Worker;
  OrError<void> ensure_worker(const std::stop_token& stop);
  Outcome try_once(const Job& job, const std::stop_token& stop);
  // What a worker says of its work: while it waits for the device no time passes.
  void note_progress(const Message& message, Deadline& deadline) const;

  const RigOptions options_;
  mutable std::mutex mutex_;  // guards what follows; held during a job
  std::unique_ptr<Worker> worker_;
  std::uint64_t next_number_ = 1;
  DeviceFacts facts_;                // of the first worker; written before the object is shared
  bool failed_by_accident_ = false;  // the last start: a process died, as it need not do the next time
};

}  // namespace kf
