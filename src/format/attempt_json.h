// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

#include <kfactory/attempt.h>
#include <kfactory/error.h>

// JSON of what is known of one attempt (docs/formats/ledger.md). Compact, keys in a fixed order: equal values give
// equal bytes. A key that is missing keeps its default and one of a later version is ignored; a wrong type or an
// unknown word is an error with its JSON path. Verdict, Measurement and DeviceFacts: outcome_json.h.

namespace kf {

std::string score_json(const Score& score);
OrError<Score> score_from_json(std::string_view json);

std::string usage_json(const Usage& usage);
OrError<Usage> usage_from_json(std::string_view json);

std::string kernels_json(const std::vector<KernelUse>& kernels);
OrError<std::vector<KernelUse>> kernels_from_json(std::string_view json);

std::string checked_json(const std::vector<CheckedSet>& checked);

// Without Attempt::source, of which only the SHA-256 is written; the caller keeps it as a blob and sets it after
// reading.
std::string attempt_json(const Attempt& attempt);
OrError<Attempt> attempt_from_json(std::string_view json);

}  // namespace kf
