// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include <kfactory/spec.h>

namespace kf {

// Does this dtype, or name of a type, stand for integers alone? Outputs of integers are compared for equality.
bool only_integers(const Spec& spec, const std::string& dtype);

}  // namespace kf
