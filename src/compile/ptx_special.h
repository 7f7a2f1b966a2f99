// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

namespace kf {

// Is `name` one of PTX's predefined registers ("%tid.x", "%clock64", "%envreg3")? The list of PTX ISA 9.0: a name that
// is not on it and that nothing declares makes a text unreadable.
bool is_special_ptx_register(std::string_view name);

}  // namespace kf
