// SPDX-License-Identifier: Apache-2.0
#include "os/entropy.h"

#include <sys/random.h>

#include <cerrno>

#include "os/descriptor.h"

namespace kf {

void fill_with_entropy(std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t got = ::getrandom(bytes.data(), bytes.size(), 0);
    if (got < 0 && errno != EINTR) {
      throw Fatal(to_string(system_error("getrandom")));
    }
    bytes = bytes.subspan(got > 0 ? static_cast<std::size_t>(got) : 0);
  }
}

RunSecret draw_run_secret() {
  RunSecret secret;
  fill_with_entropy(std::as_writable_bytes(std::span(secret.bytes)));
  return secret;
}

}  // namespace kf
