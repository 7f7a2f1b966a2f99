// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

namespace kf {

// What a test that compiles does on a machine without NVRTC: it skips itself, or fails when KFACTORY_REQUIRE_NVRTC=1.
// Used as `return without_nvrtc();`.
inline void without_nvrtc(const std::string& why = "no NVRTC on this machine") {
  const char* required = std::getenv("KFACTORY_REQUIRE_NVRTC");
  if (required != nullptr && std::string(required) == "1") FAIL() << "KFACTORY_REQUIRE_NVRTC=1, but: " << why;
  GTEST_SKIP() << why;
}

}  // namespace kf
