// SPDX-License-Identifier: Apache-2.0
#include "rig/orphans.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace kf {
namespace {

std::vector<pid_t> children_except(const std::vector<pid_t>& keep) {
  const std::string self = std::to_string(::getpid());
  std::ifstream list("/proc/" + self + "/task/" + self + "/children");
  std::vector<pid_t> found;
  for (pid_t child = 0; list >> child;) {
    if (std::ranges::find(keep, child) == keep.end()) {
      found.push_back(child);
    }
  }
  return found;
}

}  // namespace

void adopt_orphans() {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
}

void end_orphans(const std::vector<pid_t>& keep) {
  constexpr int kRounds = 1000;  // a process that forks faster than it is killed ends some day: of process numbers
  for (int round = 0; round < kRounds; ++round) {
    const std::vector<pid_t> orphans = children_except(keep);
    if (orphans.empty()) {
      return;
    }
    for (const pid_t orphan : orphans) {  // all at once first, so that they cannot replace each other
      ::kill(orphan, SIGKILL);
    }
    for (const pid_t orphan : orphans) {
      ::waitpid(orphan, nullptr, 0);
    }
  }
}

}  // namespace kf
