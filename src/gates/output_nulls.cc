// SPDX-License-Identifier: Apache-2.0
#include "gates/output_nulls.h"

#include <algorithm>

namespace kf {

void OutputNulls::note(const std::string& null, const std::vector<Mismatch>& outputs) {
  for (const Mismatch& output : outputs) {
    if (output.elements == 0) {
      continue;
    }
    auto at = std::ranges::find_if(
        tried_, [&](const Tried& tried) { return tried.output == output.output && tried.null == null; });
    if (at == tried_.end()) {
      tried_.push_back({output.output, null});
      at = tried_.end() - 1;
    }
    ++at->tries;
    // NaN and Inf refuse whatever is finite, however loose the bound is.
    at->refused = at->refused || output.wrong > output.class_errors + output.unwritten;
  }
}

std::vector<std::string> OutputNulls::open() const {
  std::vector<std::string> nulls;
  for (const Tried& tried : tried_) {
    if (!tried.refused && std::ranges::find(nulls, tried.null) == nulls.end()) {
      nulls.push_back(tried.null);
    }
  }
  return nulls;
}

std::vector<AdmissionRow> OutputNulls::rows() const {
  std::vector<AdmissionRow> rows;
  for (const Tried& tried : tried_) {
    if (!tried.refused) {
      rows.push_back({"output " + tried.output + ": " + tried.null, "refused somewhere",
                      "passed on all " + std::to_string(tried.tries) +
                          " cases tried, whatever the other outputs are: a kernel need not compute " + tried.output +
                          "; tighten its tolerance or choose families and cases in which it varies",
                      false});
    }
  }
  return rows;
}

}  // namespace kf
