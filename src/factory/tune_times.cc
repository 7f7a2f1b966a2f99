// SPDX-License-Identifier: Apache-2.0
#include "tune_times.h"

#include <algorithm>
#include <limits>

#include "sweep.h"

namespace kf {
namespace {

constexpr std::uint64_t kFirstSeed = 4'000;  // seed_for(..., use) of the first job; measurements have lower ones

// Each arm's median in each case; infinity where it has no samples.
std::vector<std::vector<double>> medians_of(const Measurement& measurement, std::size_t arms) {
  std::vector<std::vector<double>> medians(arms);
  for (const CaseTiming& timing : measurement.cases) {
    std::vector<std::vector<double>> nanoseconds(arms);
    for (const Sample& sample : timing.samples) {
      if (static_cast<std::size_t>(sample.arm) < arms) {  // the control comes after them
        nanoseconds[static_cast<std::size_t>(sample.arm)].push_back(sample.nanoseconds);
      }
    }
    for (std::size_t arm = 0; arm < arms; ++arm) {
      const bool none = nanoseconds[arm].empty();
      medians[arm].push_back(none ? std::numeric_limits<double>::infinity()
                                  : median_interval(std::move(nanoseconds[arm])).median);
    }
  }
  return medians;
}

struct Left {
  std::string arm, why;
};
// Who left a case, by the notes of its timing. The second loading of an arm is the arm: one cubin.
std::vector<Left> who_left(const CaseTiming& timing) {
  std::vector<Left> left;
  for (const std::string& note : timing.notes) {
    const std::size_t at = note.find(kDoesNotCount);
    if (at == std::string::npos) {
      continue;
    }
    std::string arm = note.substr(0, at);
    arm.resize(arm.ends_with(kAgainSuffix) ? arm.size() - kAgainSuffix.size() : arm.size());
    left.push_back({std::move(arm), note.substr(at + kDoesNotCount.size())});
  }
  return left;
}

// What a job said of its arms, in their order.
struct Timed {
  std::vector<std::vector<double>> medians;
  std::vector<std::string> wrong;  // in which case its outputs were wrong, and how; empty: in none
};

struct Refused {
  std::optional<std::size_t> arm;  // nullopt: nobody can tell
  std::string reason;
};

class Timing {
 public:
  Timing(const Factory& factory, JobBuilder& jobs, const std::vector<Case>& cases, std::int32_t quads,
         const EvaluationSettings& settings, const std::stop_token& stop)
      : factory_(factory), jobs_(jobs), cases_(cases), quads_(quads), settings_(settings), stop_(stop) {}

  TuneTimes run(const Candidate& candidate, std::vector<Assignment> points) {
    build(candidate, std::move(points));
    while (!arms_.empty() && !settled()) {
    }
    return std::move(times_);
  }

 private:
  // Every arm of such a job is judged: none is trusted.
  void build(const Candidate& candidate, std::vector<Assignment> points) {
    for (std::size_t i = 0; i < points.size(); ++i) {
      auto arm = jobs_.arm("variant:" + std::to_string(i), candidate, cases_, points[i], stop_);
      if (arm) {
        arms_.push_back(std::move(*arm));
        times_.points.push_back(std::move(points[i]));
      } else {
        times_.notes.push_back("refused " + words(points[i]) + ": " + arm.error().message);
      }
    }
  }

  // Contents and order of its own each time: no measurement that follows meets what these points were chosen on.
  std::expected<Timed, Refused> time(const std::vector<Arm>& arms) {
    Job job = jobs_.time_job(cases_, arms, false, settings_, stop_);
    job.min_quads = job.max_quads = quads_;
    const Purpose purpose = settings_.confirm ? Purpose::kConfirm : Purpose::kTime;
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      job.time_seeds.at(i) =
          seed_for(settings_.secret, purpose, settings_.variant, cases_[i].id.value, kFirstSeed + timed_);
    }
    ++timed_;
    const std::expected<TimeReport, Verdict> report = run_time_job(factory_, job, stop_);
    if (report && report->verdict.passed) {
      return timed(report->measurement, arms);
    }
    Refused refused;
    refused.reason = report ? report->verdict.reason : report.error().reason;
    if (arms.size() == 1) {
      refused.arm = 0;
    } else if (report && report->arm >= 0 && static_cast<std::size_t>(report->arm) < arms.size()) {
      refused.arm = static_cast<std::size_t>(report->arm);
    }
    return std::unexpected(std::move(refused));
  }

  Timed timed(const Measurement& measurement, const std::vector<Arm>& arms) {
    Timed timed{medians_of(measurement, arms.size()), std::vector<std::string>(arms.size())};
    for (const CaseTiming& timing : measurement.cases) {
      for (const Left& left : who_left(timing)) {
        const auto at = static_cast<std::size_t>(std::ranges::find(arms, left.arm, &Arm::name) - arms.begin());
        if (at == arms.size()) {
          continue;
        }
        if (left.why.starts_with(kWrongOutputs)) {
          timed.wrong[at] = left.why + " (" + timing.case_id + ")";
        } else {
          times_.notes.push_back(words(point_of(left.arm)) + " was dropped from " + timing.case_id + ": " + left.why);
        }
      }
    }
    return timed;
  }

  const Assignment& point_of(const std::string& arm) const {
    const auto found = std::ranges::find(arms_, arm, &Arm::name);
    return times_.points.at(static_cast<std::size_t>(found - arms_.begin()));
  }

  void leaves(std::size_t at, const std::string& reason) {
    times_.notes.push_back("refused " + words(times_.points[at]) + ": " + reason);
    times_.points.erase(times_.points.begin() + static_cast<std::ptrdiff_t>(at));
    arms_.erase(arms_.begin() + static_cast<std::ptrdiff_t>(at));
  }

  bool settled() {
    auto together = time(arms_);
    if (together) {
      times_.nanoseconds = std::move(together->medians);
      for (std::size_t at = arms_.size(); at-- > 0;) {  // fast and wrong is not fast
        if (!together->wrong[at].empty()) {
          times_.nanoseconds.erase(times_.nanoseconds.begin() + static_cast<std::ptrdiff_t>(at));
          leaves(at, together->wrong[at]);
        }
      }
      return true;
    }
    if (together.error().arm) {
      leaves(*together.error().arm, together.error().reason);
      return false;
    }
    const std::size_t before = arms_.size();
    times_.nanoseconds.clear();
    for (std::size_t at = 0; at < arms_.size();) {
      auto alone = time({arms_[at]});
      const std::string refusal = alone ? alone->wrong.front() : alone.error().reason;
      if (refusal.empty()) {
        times_.nanoseconds.push_back(std::move(alone->medians.front()));
        ++at;
      } else {
        leaves(at, refusal);
      }
    }
    if (arms_.size() == before) {
      times_.notes.push_back("tune points could not be timed beside each other (" + together.error().reason +
                             "); each was timed alone");
    }
    return arms_.size() == before;
  }

  const Factory& factory_;
  JobBuilder& jobs_;
  const std::vector<Case>& cases_;
  std::int32_t quads_;
  const EvaluationSettings& settings_;
  const std::stop_token& stop_;
  std::vector<Arm> arms_;  // one for each of times_.points
  TuneTimes times_;
  std::uint64_t timed_ = 0;  // jobs so far
};

}  // namespace

TuneTimes time_tune_points(const Factory& factory, JobBuilder& jobs, const Candidate& candidate,
                           const std::vector<Case>& cases, std::vector<Assignment> points, std::int32_t quads,
                           const EvaluationSettings& settings, const std::stop_token& stop) {
  return Timing(factory, jobs, cases, quads, settings, stop).run(candidate, std::move(points));
}

std::string words(const Assignment& tune) {
  std::string text;
  for (const auto& [name, value] : tune) {
    text += (text.empty() ? "" : " ") + name + "=" + std::to_string(value);
  }
  return text;
}

}  // namespace kf
