// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <kfactory/device_facts.h>
#include <kfactory/spec.h>

namespace kf {

// Cases that a prompt may speak of: everything but held_out.
bool may_be_shown(std::string_view case_id);
// Those of one set ("time", "check"); empty for held_out, whatever is asked.
const std::vector<Case>& shown_cases(const Spec& spec, std::string_view set);
// The case with this id; nullptr for unknown and held-out ones.
const Case* shown_case(const Spec& spec, std::string_view case_id);

// "M=32768, N=256, with residual, contents spikes, T=bfloat16": what tells the cases of a spec apart. Axes that follow
// from others, optional tensors that are absent and the usual contents are left out.
std::string describe_case(const Spec& spec, const Case& of);
std::string describe_shape(const Spec& spec, const Case& of);  // without the types
std::string describe_types(const Case& of);                    // "T=bfloat16"

// Shortest time in which the bytes of Spec::work can move: those read, and those written that do not fit into the L2,
// at the device's bandwidth. nullopt when work or bandwidth are unknown. (No floor from operations: the rate depends on
// the instructions.)
std::optional<double> floor_nanoseconds(const Spec& spec, const Case& of, const DeviceFacts& facts);

// Whether a case is within a lesson's scope: one of its dtypes is named (or none is), and every shape holds.
// The error says which shape cannot be evaluated.
OrError<bool> within_scope(const Spec& spec, const Case& of, const std::vector<std::string>& dtypes,
                           const std::vector<std::string>& shapes);

}  // namespace kf
