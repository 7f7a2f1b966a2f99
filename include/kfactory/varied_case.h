// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include <kfactory/spec.h>

namespace kf {

// As resized_case; `axes` may also name expr axes, which then hold whatever the others are, and scalars get other
// values.
struct Variation {
  Map<std::int64_t> axes;
  Map<double> scalars;
};
OrError<Case> varied_case(const Spec& spec, const Case& of, const Variation& variation, std::string set);

}  // namespace kf
