// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include <kfactory/job.h>

namespace kf {

// What an integer output holds over all checks of a job. An admission reports it as a row, from which the factory takes
// it again: whether it is a gap depends on what the spec allows, which a job does not know.
struct OutputRange {
  std::string output;
  double largest = 0;              // absolute value
  std::vector<std::string> below;  // dims of inputs that every value stays below and at zero or above: indices look so
};
AdmissionRow row_of(const OutputRange& range);
// nullopt: a row of something else.
std::optional<OutputRange> range_of(const AdmissionRow& row);

}  // namespace kf
