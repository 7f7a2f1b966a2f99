// SPDX-License-Identifier: Apache-2.0
#include "side_by_side.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>

#include "dispatch.h"
#include "executor.h"

namespace kf::emulator {
namespace {

// Fewer threads than this are carried out sooner than others wake up.
constexpr std::uint64_t kWorthwhile = 512;
// Instructions of a warp without a store, an exit or a barrier of its cluster: perhaps it waits for another cluster.
constexpr std::uint64_t kPatience = 1'000'000;

// What the threads share.
struct Progress {
  explicit Progress(std::uint64_t clusters) : total(clusters) {}
  const std::uint64_t total;
  std::atomic<std::uint64_t> next{0}, steps{0};
  std::atomic<bool> gave_up{false}, entangled{false};
};

// One thread's share of a launch.
struct Share {
  explicit Share(const Launch& whole) : launch{static_cast<const LaunchSetup&>(whole)} { launch.overlay = &overlay; }
  Overlay overlay;
  Launch launch;
};

void carry_out(Cluster& cluster, Share& share, Progress& progress) {
  const std::uint64_t patience = std::max<std::uint64_t>(1, kPatience / share.launch.quantum);
  std::uint64_t idle = 0;
  while (!cluster.done() && !progress.gave_up.load(std::memory_order_relaxed)) {
    const std::uint64_t before = progress_of(cluster), steps = share.launch.counters.lane_instructions;
    turn(cluster);
    idle = progress_of(cluster) == before ? idle + 1 : 0;
    if (idle > patience) throw Entangled{};
    const std::uint64_t done = share.launch.counters.lane_instructions - steps;
    if (progress.steps.fetch_add(done, std::memory_order_relaxed) + done >= share.launch.step_budget)
      progress.gave_up = true;
  }
}

void work(Share& share, Progress& progress) {
  try {
    std::unique_ptr<Cluster> cluster;
    while (!progress.gave_up) {
      const std::uint64_t number = progress.next++;
      if (number >= progress.total) return;
      if (cluster == nullptr) cluster = make_cluster(share.launch);
      start_cluster(*cluster, number);
      share.overlay.enter(static_cast<std::uint32_t>(number) + 1);
      carry_out(*cluster, share, progress);
    }
  } catch (const Entangled&) {
    progress.entangled = progress.gave_up = true;
  } catch (...) {  // a finding, or no room: run_grid meets it again, and says which comes first
    progress.gave_up = true;
  }
}

bool worthwhile(const Launch& launch, const Crew& crew) {
  const auto& block = launch.shape.block;
  const std::uint64_t clusters = clusters_of(launch.shape);
  return crew.size() > 1 && !launch.shape.cooperative && launch.touches == nullptr && !launch.kernel->entangled &&
         clusters > 1 && clusters < 0xffff'ffffu &&
         std::uint64_t{block[0]} * block[1] * block[2] * clusters >= kWorthwhile;
}

}  // namespace

bool run_side_by_side(Launch& launch, Crew& crew) {
  if (!worthwhile(launch, crew)) return false;
  Progress progress(clusters_of(launch.shape));
  std::vector<std::unique_ptr<Share>> shares;
  std::vector<Overlay*> overlays;
  for (unsigned n = 0; n < crew.size(); ++n) {
    shares.push_back(std::make_unique<Share>(launch));
    overlays.push_back(&shares.back()->overlay);
  }
  crew.run([&](unsigned n) { work(*shares[n], progress); });
  const bool apart = !progress.gave_up && Overlay::independent(overlays);
  launch.kernel->entangled = progress.entangled || (!progress.gave_up && !apart);
  if (!apart) return false;
  for (const auto& share : shares) {
    share->overlay.commit();
    launch.counters += share->launch.counters;
    launch.touched.add(share->launch.touched);
  }
  return true;
}

}  // namespace kf::emulator
