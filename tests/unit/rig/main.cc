// SPDX-License-Identifier: Apache-2.0
// The test binary is its own worker: `rig_test --worker WAY` runs the real supervisor over the host device, misbehaving
// in the way that is named (worker_ways.h).
#include <gmock/gmock.h>

#include <string_view>

#include "worker_ways.h"

int main(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == "--worker") {
    return kf::worker_in_way(argv[2]);
  }
  if (argc == 7 && std::string_view(argv[1]) == "--worker") {
    return kf::one_job_in_way(argv[2], argv[4], argv[6]);  // --job FILE --answer FILE
  }
  testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
