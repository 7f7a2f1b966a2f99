// SPDX-License-Identifier: Apache-2.0
#include "plan_order.h"

#include <algorithm>

namespace kf::emulator {
namespace {

void raise(std::vector<Progress>& row, const std::vector<Progress>& by) {
  for (std::size_t n = 0; n < by.size(); ++n) row[n] = std::max(row[n], by[n]);
}

}  // namespace

PlanOrder::PlanOrder(std::span<const kf::Launch> launches) : launches_(launches), rows_(launches.size()) {}

bool PlanOrder::overlaps(std::span<const kf::Launch> launches) {
  for (std::size_t n = 1; n < launches.size(); ++n) {
    const auto& after = launches[n].after;
    if (launches[n].flags.pdl || std::ranges::find(after, static_cast<int>(n) - 1) == after.end()) return true;
  }
  return false;
}

void PlanOrder::start(std::size_t launch) {
  Row& row = rows_[launch];
  row.started.assign(launch, Progress::kNothing);
  row.waited.assign(launch, Progress::kNothing);
  for (const int before : launches_[launch].after) {
    const auto at = static_cast<std::size_t>(before);
    if (launches_[launch].flags.pdl && launches_[at].kind == kf::Launch::Kind::kKernel)
      follow_programmatic(row, at);
    else
      follow(row, at);
  }
  raise(row.waited, row.started);
}

void PlanOrder::end(std::size_t launch, bool waited, bool before_trigger) {
  rows_[launch].has_waited = waited;
  rows_[launch].waited_before_trigger = before_trigger;
}

void PlanOrder::follow(Row& row, std::size_t before) const {
  row.started[before] = Progress::kDone;
  for (std::size_t n = 0; n < before; ++n)
    if (rows_[before].started[n] != Progress::kNothing) row.started[n] = Progress::kDone;
}

void PlanOrder::follow_programmatic(Row& row, std::size_t before) const {
  const Row& of = rows_[before];
  row.started[before] = std::max(row.started[before], Progress::kTriggered);
  row.waited[before] = Progress::kDone;
  raise(row.started, of.started);
  raise(row.waited, of.started);
  // No block triggers before one that waits first does; the launch does not end before any of its waits has.
  if (of.waited_before_trigger) raise(row.started, of.waited);
  if (of.has_waited) raise(row.waited, of.waited);
}

}  // namespace kf::emulator
