// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include <kfactory/build.h>
#include <kfactory/device_facts.h>
#include <kfactory/job.h>
#include <kfactory/plan.h>
#include <kfactory/spec.h>

namespace kf {

// The copy row says how fast this device moves as many bytes as the operation must: source and target have half of
// them each.
std::int64_t copied_bytes(const Spec& spec, const Case& of);

// Every way to copy `of`'s bytes, memcpy first.
std::vector<Launch> ways_to_copy(const Spec& spec, const Case& of, const DeviceFacts& facts);

// One arm that copies in the given way, one way for each case, on tensors of its own.
Arm copy_arm(std::string name, const Spec& spec, const std::vector<Case>& cases, const std::vector<Launch>& ways,
             const Build& harness);
// The same for copies of any sizes, one for each case.
Arm copy_arm(std::string name, const std::vector<std::int64_t>& sizes, const std::vector<Case>& cases,
             const std::vector<Launch>& ways, const Build& harness);

}  // namespace kf
