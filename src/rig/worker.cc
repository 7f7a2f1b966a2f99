// SPDX-License-Identifier: Apache-2.0
#include "rig/worker.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "rig/orphans.h"
#include "rig/supervisor.h"

namespace kf {

int worker_main(const WorkerOptions& options, const DeviceOpener& open_device) {
  ::signal(SIGPIPE, SIG_IGN);
  adopt_orphans();
  // Whatever prints to stdout from here on, in this process or a library, must not end up between frames.
  Descriptor out(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  Supervisor supervisor(options, open_device, STDIN_FILENO, std::move(out));
  return supervisor.run();
}

}  // namespace kf
