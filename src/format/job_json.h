// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>
#include <string_view>

#include <kfactory/job.h>

#include "format/json_codec.h"

namespace kf {

Encoded encode_job(const Job& job);
// The first error, with its JSON path. Never more memory than the input implies.
OrError<Job> decode_job(std::string_view json, std::span<const std::byte> blob);

std::string case_json(const Case& of);
OrError<Case> case_from_json(std::string_view json);
std::string plan_json(const ResolvedPlan& plan);
OrError<ResolvedPlan> resolved_plan_from_json(std::string_view json);

}  // namespace kf
