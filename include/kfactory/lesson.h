// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include <kfactory/values.h>

namespace kf {

// One effect, measured or estimated, of two attempts on the same cases.
struct Effect {
  AttemptId with, without;
  double ratio = 1.0;     // time with / time without; < 1 is faster
  std::string run;        // whose attempts these are; empty: of Lesson::origin
  bool estimate = false;  // of two emulator's estimates, not of times
  bool operator==(const Effect&) const = default;
};

struct Lesson {
  std::string id;  // "L-" + 12 hexadecimal digits of the claim and scope
  std::string claim, technique, predicted;
  std::string arch, op_type;
  std::vector<std::string> dtypes, shapes;
  std::vector<Effect> supporting, contradicting;  // computed from the ledger, never taken from a model
  std::string origin;                             // run folder's name
  // What its effects are: "measured", "estimated", "measured and estimated"; "conjecture" without any.
  std::string_view evidence() const;
  bool conjecture() const { return supporting.empty() && contradicting.empty(); }
  // Share of supporting evidence with Laplace's rule: (s + 1) / (s + c + 2); 0 for a conjecture.
  double confidence() const;
};

}  // namespace kf
