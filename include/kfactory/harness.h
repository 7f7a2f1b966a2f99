// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include <kfactory/build.h>
#include <kfactory/device_facts.h>
#include <kfactory/plan.h>

// What the factory needs of kernels/harness: its source, to compile it for a device, and the ways to copy.

namespace kf::harness {

// The harness kernels as one source without includes of its own.
BuildRequest harness_build_request(std::string_view arch);

// Every way that we know to copy `bytes` bytes, from tensor 0 to tensor 1 of a case of its own: memcpy first, then the
// copy kernels in several shapes. The fastest is the copy row.
std::vector<Launch> copy_launches(std::int64_t bytes, const DeviceFacts& facts);

}  // namespace kf::harness
