// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string_view>

#include <kfactory/build.h>
#include <kfactory/plan.h>
#include <kfactory/spec.h>
#include <kfactory/verdict.h>

namespace kf {

// Before anything is compiled: includes outside the allow-list (through splices, macros and digraphs
// too), __has_include, #line, #embed, over-long files, control characters. nullopt: passed.
std::optional<Verdict> audit_source(std::string_view source);

// After compilation, from what the instructions do: entry points other than the plan's, written or escaping
// module variables, forbidden symbols and special registers, griddepcontrol without pdl. nullopt: passed.
std::optional<Verdict> audit_binary(const Build& build, const LaunchPlan& plan, const Spec& spec);

// SHA-256 of the PTX without comments, directives that name files, and register or label numbers: equal for
// two candidates that differ in names and formatting only.
std::string normalised_ptx_hash(std::string_view ptx);

}  // namespace kf
