// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <expected>
#include <functional>

#include <kfactory/device.h>
#include <kfactory/job.h>

// The dynamic gates, over Device verbs (docs/gates.md). What a candidate did comes back as a Verdict; a Fault here is
// always the rig's.

namespace kf {

// Who is to blame for what happens from now on. Told before a candidate's launch and after its synchronisation.
enum class Phase : std::uint8_t { kRig, kCandidate };
using PhaseObserver = std::function<void(Phase)>;
// Told which gate the work from now on is for; for the account of what each costs.
using GateObserver = std::function<void(Gate)>;

// Every check point of the job, in order, up to the first failure (all of them with keep_going), then repeat,
// relations and perturbation on the cases that they are for. job.arms[0] is judged.
std::expected<CheckReport, Fault> run_check(Device& device, const Job& job, const PhaseObserver& phase,
                                            const GateObserver& gate = {});

// Is the spec able to tell right from wrong? job.arms[0] is the naive baseline; null candidates are written by device
// verbs. One row for each thing tried.
std::expected<AdmissionReport, Fault> run_admission(Device& device, const Job& job, const PhaseObserver& phase);

}  // namespace kf
