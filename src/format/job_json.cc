// SPDX-License-Identifier: Apache-2.0
#include "format/job_json.h"

#include "format/fields.h"

namespace kf {

Encoded encode_job(const Job& job) {
  return encode_value(job);
}
OrError<Job> decode_job(std::string_view json, std::span<const std::byte> blob) {
  return decode_value<Job>(json, blob);
}

std::string case_json(const Case& of) {
  return encode_value(of).json;
}
OrError<Case> case_from_json(std::string_view json) {
  return decode_value<Case>(json, {});
}
std::string plan_json(const ResolvedPlan& plan) {
  return encode_value(plan).json;
}
OrError<ResolvedPlan> resolved_plan_from_json(std::string_view json) {
  return decode_value<ResolvedPlan>(json, {});
}

}  // namespace kf
