// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <poll.h>

#include <deque>
#include <optional>
#include <vector>

#include "rig/blame.h"
#include "rig/deadline.h"
#include "rig/job_child.h"
#include "rig/message.h"

namespace kf {

// One loop over poll(2): frames from the factory, frames, output and end of the child that works, its deadline, and
// the output of the child kept warm. It decides nothing about a candidate except who is to blame for a child's end.
class Supervisor {
 public:
  using Time = std::chrono::steady_clock::time_point;
  Supervisor(const WorkerOptions& options, const DeviceOpener& open_device, int in, Descriptor out);
  // Until the input ends (0) or is no protocol (1).
  int run();

 private:
  struct Child {
    JobChild job;
    std::int64_t log_left = 0;  // bytes of its output that are still passed on
  };
  struct Active {
    std::uint64_t number = 0;
    Child child;
    Blame blame;
    Deadline deadline;
    bool measures = true;
    std::chrono::milliseconds allowed{0};
    Bytes unsent;  // of the job's frame
    std::size_t sent = 0;
    FrameReader reader;
  };

  void begin_next();
  void keep_warm();
  std::optional<Child> new_child();
  std::vector<pollfd> descriptors();
  std::chrono::milliseconds time_left() const;
  // False: the input is over, exit_code_ says how.
  bool read_input();
  void obey(Message message);
  void cancel(std::uint64_t number);
  void send_job();
  void read_child();
  void note_exit();
  void miss_deadline();
  void pass_on_log(Child& child);
  // Ends the child that works and what it started, then removes what they left in its scratch folder.
  void end_active();
  void finish(const Outcome& outcome);
  void finish(Message outcome);
  bool tell(const Message& message);

  const WorkerOptions& options_;
  const DeviceOpener& open_device_;
  int in_;
  Descriptor out_;
  int exit_code_ = 0;
  bool factory_gone_ = false, warm_failed_ = false;
  FrameReader input_;
  std::deque<Message> waiting_;
  std::optional<Active> active_;
  std::optional<Child> warm_;
};

}  // namespace kf
