// SPDX-License-Identifier: Apache-2.0
#include "gates/perturbation.h"

#include <algorithm>

#include "gates/verdicts.h"

namespace kf {
namespace {

constexpr std::int64_t kLargestBytes = 64LL << 20;
// Of the multiprocessors, held by other work. With 0.95 a grid whose blocks wait for each other fits only when it is
// tiny; with 0 there are only pauses.
constexpr double kShares[] = {0.5, 0.95, 0.25, 0.0};

bool confirms(const Job& job) {
  return job.kind == Job::Kind::kConfirm;
}

std::size_t most_points(const Job& job, const std::string& device_kind) {
  return device_kind == "emulator" ? 1 : confirms(job) ? 4 : 2;
}

int launches_of(const Job& job, const std::string& device_kind) {
  return confirms(job) ? (device_kind == "emulator" ? 2 : 4) : 1;
}

std::string what_happened(const Disturbance& disturbance) {
  std::string text;
  if (disturbance.held_share > 0) {
    const int percent = static_cast<int>(100 * disturbance.held_share + 0.5);
    text = "other work held about " + std::to_string(percent) + " % of the multiprocessors and moved memory";
  }
  if (disturbance.pauses) {
    text += (text.empty() ? "" : ", ") + std::string("launches came with pauses or all at once");
  }
  return text;
}

Verdict explained(Verdict verdict, const Disturbance& disturbance, bool right_so_far) {
  const std::string circumstances = "on a disturbed device (" + what_happened(disturbance) + "): ";
  const bool hangs = verdict.reason == "timeout";
  verdict.message = circumstances + verdict.message;
  if (!right_so_far) {
    verdict.message += ". Undisturbed launches failed before: look at those first";
    return verdict;
  }
  verdict.message +=
      (hangs
           ? ". Where undisturbed launches end: do blocks wait for others of their grid? They need not be resident at "
             "the same time unless the launch is \"cooperative\": true with a grid of at most resident(kernel); else "
             "let "
             "a block wait only for blocks that took an earlier ticket"
           : ". Where undisturbed launches are right, the result depends on timing: look for missing barriers or "
             "fences, waiting times in the place of synchronisation, and reads of memory that is not written yet");
  return verdict;
}

}  // namespace

std::vector<const CheckPoint*> points_to_disturb(const Job& job, const std::string& device_kind) {
  std::vector<const CheckPoint*> points;  // one a case
  const auto bytes = [&](const CheckPoint* point) {
    return bytes_of(job.cases[static_cast<std::size_t>(point->case_index)]);
  };
  for (const CheckPoint& point : job.checks) {
    const bool first =
        std::ranges::none_of(points, [&](const CheckPoint* p) { return p->case_index == point.case_index; });
    const bool launches = !job.arms[0].plans[static_cast<std::size_t>(point.case_index)].launches.empty();
    if (first && launches && bytes(&point) <= kLargestBytes) {
      points.push_back(&point);
    }
  }
  // A single block waits for nobody.
  const auto is_grid = [&](const CheckPoint* point) {
    return std::ranges::any_of(job.arms[0].plans[static_cast<std::size_t>(point->case_index)].launches,
                               [](const Launch& launch) { return launch.grid != launch.cluster; });
  };
  if (std::ranges::any_of(points, is_grid)) {
    std::erase_if(points, [&](const CheckPoint* point) { return !is_grid(point); });
  }
  std::ranges::stable_sort(points, {}, bytes);
  const std::size_t most = most_points(job, device_kind);
  if (points.size() > most) {  // the smallest and the largest, and some between them
    std::vector<const CheckPoint*> chosen;
    for (std::size_t i = 0; i < most; ++i) {
      chosen.push_back(points[most == 1 ? 0 : i * (points.size() - 1) / (most - 1)]);
    }
    points = std::move(chosen);
  }
  return points;
}

std::optional<Verdict> check_disturbed(LaunchChecker& checker, const Job& job, const CheckPoint& point, int number,
                                       const std::string& device_kind, Gate gate, bool right_so_far) {
  const std::uint64_t seed = seed_at(point, 0);
  LaunchCheck launch;
  launch.gate = gate;
  launch.case_index = point.case_index;
  launch.misalign = point.misalign;
  launch.contents = {point.family, derive_seed(seed, 860), &job.families};
  launch.want_outputs = job.deterministic;
  std::vector<Digest> expected;
  if (job.deterministic) {
    launch.poison_seed = derive_seed(seed, 861);
    LaunchResult undisturbed = checker.check(launch);
    if (undisturbed.refusal) {
      return undisturbed.refusal;
    }
    expected = std::move(undisturbed.outputs);
  }
  const int launches = launches_of(job, device_kind);
  for (int i = 0; i < launches; ++i) {
    const auto use = static_cast<std::uint64_t>(870 + 2 * i);
    Disturbance disturbance;
    disturbance.seed = derive_seed(seed, use);
    // The emulator's only launch meets the hardest of them.
    disturbance.held_share = kShares[static_cast<std::size_t>(number + i + (device_kind == "emulator" ? 1 : 0)) % 4];
    disturbance.pauses = true;
    launch.disturbance = disturbance;
    launch.poison_seed = derive_seed(seed, use + 1);
    const LaunchResult result = checker.check(launch);
    if (result.refusal) {
      return explained(*result.refusal, disturbance, right_so_far);
    }
    if (result.outputs != expected) {
      Verdict verdict =
          refuse(gate, "not_repeatable",
                 "equal inputs gave outputs that differ in their bits from those of an undisturbed launch, "
                 "but the spec promises determinism");
      return explained(std::move(verdict), disturbance, right_so_far);
    }
  }
  return std::nullopt;
}

}  // namespace kf
