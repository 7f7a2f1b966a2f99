// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <kfactory/clock.h>
#include <kfactory/verdict.h>

namespace kf {

// Wall times of one evaluation's steps. Thread-safe: the rest is compiled while the probe is checked.
class CostLog {
 public:
  explicit CostLog(const Clock* clock) : clock_(clock) {}  // null: everything takes no time

  template <class Step>
  auto during(std::string_view name, Step&& step) {
    struct Add {
      CostLog& log;
      std::string_view name;
      std::chrono::steady_clock::time_point start;
      ~Add() { log.add({std::string(name), log.since(start), 1}); }
    } add{*this, name, now()};
    return step();
  }
  void add(Cost cost);
  // What a job's process reported, each step named after the job.
  void add_inside(std::string_view job, const std::vector<Cost>& costs);
  std::vector<Cost> all() const;

 private:
  std::chrono::steady_clock::time_point now() const;
  double since(std::chrono::steady_clock::time_point start) const;

  const Clock* clock_;
  mutable std::mutex mutex_;
  std::vector<Cost> costs_;
};

}  // namespace kf
