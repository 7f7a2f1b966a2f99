// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include <kfactory/verdict.h>

namespace kf {

// A place in the candidate's source that a refusal is about, with its neighbours.
struct ExplainedPlace {
  SourcePlace place;
  std::int64_t first_line = 0;     // of `lines`
  std::vector<std::string> lines;  // empty: the candidate has no such line
};

// The places of a refusal: those of its finding, else the lines that its message names ("candidate.cu:12"). Pure.
std::vector<ExplainedPlace> explain(const Verdict& verdict, std::string_view source);

}  // namespace kf
