// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include <kfactory/factory.h>

#include "cli/console.h"

namespace kf {

// Shows a run's events: one plain line each that matters, and on a terminal one live line of what is under way.
// Called from several threads, one at a time.
class RunProgress {
 public:
  RunProgress(Console& console, bool json, std::int64_t attempts)
      : console_(console), json_(json), attempts_(attempts) {}
  void show(const Event& event);

 private:
  void plain(const Event& event);
  void live();
  Console& console_;
  bool json_;
  std::int64_t attempts_;
  std::map<std::int64_t, std::string> under_way_;
  std::set<std::string> noted_;  // notes that were shown: many attempts say the same
  std::int64_t right_ = 0, refused_ = 0;
  double best_ = 0;
  bool estimate_ = false;  // best_ is one
};

}  // namespace kf
