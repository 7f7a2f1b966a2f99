// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <stop_token>

#include <kfactory/job.h>

namespace kf {

// Thrown inside src/factory only, caught where an evaluation begins: both leave the attempt open, so that a resume
// does it again. Neither says anything about the candidate.
struct Interrupted {};
struct RigFailed {
  Fault fault;
};

inline void throw_if_stopped(const std::stop_token& stop) {
  if (stop.stop_requested()) {
    throw Interrupted{};
  }
}

}  // namespace kf
