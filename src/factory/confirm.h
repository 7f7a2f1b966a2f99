// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <stop_token>

#include "attempt.h"

namespace kf {

// Screening figures are chosen for being good; so the best attempt is evaluated once more before anything is claimed of
// it: a fresh process, fresh seeds, every timed case, the timed shapes themselves and the held-out cases checked.
// Before that its tune points are settled by shape (settle.h). One that fails is refused at the gate "confirm", and the
// next best is tried. A screening sees few of the timed cases, so attempts that it saw close behind the best are
// confirmed too. Changes result.attempts (and the ledger); sets result.reason when a stop or the rig cuts it short.
void confirm_champion(const Factory& factory, const RunSettings& settings, JobBuilder& jobs, RunResult& result,
                      std::stop_token stop);

// The best of `visible` as an arm; nullopt when there is none.
std::optional<Champion> champion_of(std::span<const Attempt> visible);

}  // namespace kf
