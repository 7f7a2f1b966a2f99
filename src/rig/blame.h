// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <string>

#include <kfactory/job.h>

namespace kf {

// Keeps account of whether a candidate's kernels may have been running, so that a crash or a missed deadline is put
// down to the candidate or to the rig. Pure: times are handed in.
class Blame {
 public:
  using Time = std::chrono::steady_clock::time_point;
  explicit Blame(Time start) : start_(start), since_(start) {}

  void enter(bool candidate, Time now);
  // Crash, garbage, an early end: whoever was running at that moment.
  Fault at_once(std::string reason, std::string what) const;
  // A deadline: whoever was running, or had more than half of the time (a candidate with very slow launches may be
  // caught in a moment when the rig compares).
  Fault at_deadline(std::string what, Time now) const;

 private:
  Time start_, since_;
  std::chrono::steady_clock::duration candidate_time_{0};
  bool candidate_ = false;
};

}  // namespace kf
