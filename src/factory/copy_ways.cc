// SPDX-License-Identifier: Apache-2.0
#include "copy_ways.h"

#include <algorithm>
#include <bit>
#include <set>
#include <utility>

#include <kfactory/harness.h>

#include "copy_arms.h"
#include "records.h"
#include "sweep.h"

namespace kf {
namespace {

constexpr std::int64_t kLargestClass = 1LL << 30;
constexpr std::int32_t kSweepQuads = 4;       // two launches each: enough to tell ways apart that differ by a percent
constexpr std::int32_t kMostSweepQuads = 12;  // of short copies, whose times vary by more than that

Launch way_called(const std::vector<Launch>& ways, const std::string& id) {
  const auto found = std::ranges::find(ways, id, &Launch::id);
  if (found != ways.end()) {
    return *found;
  }
  // "..._wave" exists only where a copy has more blocks than one wave; below that the plain one is the same.
  const auto plain = std::ranges::find(ways, id.substr(0, id.rfind("_wave")), &Launch::id);
  return plain != ways.end() ? *plain : ways.front();
}

// One case for each class, which only names it: an arm that copies has tensors of its own.
Case class_case(std::int64_t bytes) {
  Case of;
  of.id.value = "copy/" + std::to_string(bytes);
  of.set = "copy";
  of.family = "normal";
  return of;
}

Job sweep_job(const Factory& factory, const std::vector<std::int64_t>& classes, const Build& harness,
              const EvaluationSettings& settings) {
  Job job;
  job.kind = Job::Kind::kTime;
  job.harness = harness;
  job.state = factory.spec->objective.state;
  job.min_quads = kSweepQuads, job.max_quads = kMostSweepQuads;
  std::vector<std::vector<Launch>> ways;
  std::vector<std::string> ids;
  for (const std::int64_t bytes : classes) {
    job.cases.push_back(class_case(bytes));
    job.time_seeds.push_back(
        seed_for(settings.secret, Purpose::kTime, settings.variant, job.cases.back().id.value, 2'000));
    ways.push_back(harness::copy_launches(bytes, factory.facts));
    for (const Launch& way : ways.back()) {
      if (std::ranges::find(ids, way.id) == ids.end()) {
        ids.push_back(way.id);
      }
    }
  }
  for (const std::string& id : ids) {
    std::vector<Launch> launches;
    for (const std::vector<Launch>& of_class : ways) {
      launches.push_back(way_called(of_class, id));
    }
    job.arms.push_back(copy_arm("copy:" + id, classes, job.cases, launches, harness));
  }
  job.deadline = std::chrono::seconds(30 + 10 * static_cast<std::int64_t>(classes.size()));
  return job;
}

// The arm with the least median; nullptr: none has samples.
const std::string* fastest_arm(const CaseTiming& timing) {
  const std::string* best = nullptr;
  double least = 0;
  for (std::size_t arm = 0; arm < timing.arms.size(); ++arm) {
    std::vector<double> nanoseconds;
    for (const Sample& sample : timing.samples) {
      if (sample.arm == static_cast<std::int32_t>(arm)) {
        nanoseconds.push_back(sample.nanoseconds);
      }
    }
    const double median = median_interval(nanoseconds).median;
    if (!nanoseconds.empty() && !timing.arms[arm].ends_with(kAgainSuffix) && (best == nullptr || median < least)) {
      best = &timing.arms[arm];
      least = median;
    }
  }
  return best;
}

}  // namespace

std::int64_t copy_class(std::int64_t bytes) {
  return std::min(kLargestClass, static_cast<std::int64_t>(
                                     std::bit_floor(static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 16)))));
}

std::vector<Launch> CopyWays::fastest(const Factory& factory, const std::vector<Case>& cases, const Build& harness,
                                      const EvaluationSettings& settings, const std::stop_token& stop) {
  const std::lock_guard lock(mutex_);
  if (factory.ledger != nullptr && !std::exchange(read_, true)) {
    fastest_ = read_copy_ways(*factory.ledger);
  }
  std::set<std::int64_t> missing;
  for (const Case& of : cases) {
    missing.insert(copy_class(copied_bytes(*factory.spec, of)));
  }
  std::erase_if(missing, [&](std::int64_t bytes) { return fastest_.contains(bytes); });
  if (!missing.empty()) {
    const Job job = sweep_job(factory, {missing.begin(), missing.end()}, harness, settings);
    const Outcome outcome = factory.rig->run(job, stop);
    const auto* report = std::get_if<TimeReport>(&outcome);
    if (report != nullptr && report->verdict.passed) {
      require_all_cases(job, *report);
      auto bytes = missing.begin();
      std::map<std::int64_t, std::string> found;
      for (const CaseTiming& timing : report->measurement.cases) {
        if (const std::string* best = fastest_arm(timing)) {
          found[*bytes] = best->substr(std::string_view("copy:").size());
        }
        ++bytes;
      }
      if (factory.ledger != nullptr && !found.empty()) {
        write_copy_ways(*factory.ledger, found);
      }
      fastest_.merge(found);
    }
  }
  std::vector<Launch> launches;
  for (const Case& of : cases) {
    const auto known = fastest_.find(copy_class(copied_bytes(*factory.spec, of)));
    launches.push_back(
        way_called(ways_to_copy(*factory.spec, of, factory.facts), known == fastest_.end() ? "memcpy" : known->second));
  }
  return launches;
}

}  // namespace kf
