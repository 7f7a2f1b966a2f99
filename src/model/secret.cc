// SPDX-License-Identifier: Apache-2.0
#include "secret.h"

#include <algorithm>

namespace kf {
namespace {
// Shorter "keys" ("x", "EMPTY", "none") are placeholders for local servers; taking them out of replies would
// only damage text.
constexpr std::size_t kShortestSecret = 8;
}  // namespace

void Redactor::add(const Secret& secret) {
  if (secret.reveal().size() >= kShortestSecret) {
    secrets_.push_back(secret);
  }
}

std::string Redactor::clean(std::string text) const {
  constexpr std::string_view kMark = "[redacted]";
  for (const Secret& secret : secrets_) {
    const std::string& value = secret.reveal();
    for (std::size_t at = text.find(value); at != std::string::npos; at = text.find(value, at + kMark.size())) {
      text.replace(at, value.size(), kMark);
    }
  }
  return text;
}

}  // namespace kf
