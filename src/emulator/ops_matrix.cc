// SPDX-License-Identifier: Apache-2.0
#include "access.h"
#include "lanes.h"

namespace kf::emulator {
bool bind_matrix(Binder&) {
  return false;
}
}  // namespace kf::emulator
