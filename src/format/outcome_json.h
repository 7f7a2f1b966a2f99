// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

#include <kfactory/job.h>

#include "format/json_codec.h"

namespace kf {

// {"check": {...}}: one member, named after the alternative: device, check, time, admission, profile, fault.
Encoded encode_outcome(const Outcome& outcome);
OrError<Outcome> decode_outcome(std::string_view json, std::span<const std::byte> blob);

std::string device_facts_json(const DeviceFacts& facts);
OrError<DeviceFacts> device_facts_from_json(std::string_view json);
std::string verdict_json(const Verdict& verdict);
OrError<Verdict> verdict_from_json(std::string_view json);
std::string measurement_json(const Measurement& measurement);
OrError<Measurement> measurement_from_json(std::string_view json);
std::string costs_json(const std::vector<Cost>& costs);
std::string admission_json(const AdmissionReport& report);

}  // namespace kf
