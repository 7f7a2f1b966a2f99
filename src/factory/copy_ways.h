// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include <kfactory/factory.h>
#include <kfactory/job.h>

namespace kf {

// The fastest way to copy, of all that there are, for each size: timed once a run and size class; the ledger keeps what
// came out, for a run that is resumed. Thread-safe.
class CopyWays {
 public:
  // One launch for each case: the fastest of its class. Times the classes that are not known yet, in one job; a rig
  // that fails leaves them unknown, and then the answer is memcpy.
  std::vector<Launch> fastest(const Factory& factory, const std::vector<Case>& cases, const Build& harness,
                              const EvaluationSettings& settings, const std::stop_token& stop);

 private:
  bool read_ = false;                            // the ledger was
  std::mutex mutex_;                             // held while a sweep runs: one is enough
  std::map<std::int64_t, std::string> fastest_;  // by size class: Launch::id
};

// The power of two below a copy's bytes, at most 1 GiB: larger copies are all alike.
std::int64_t copy_class(std::int64_t bytes);

}  // namespace kf
