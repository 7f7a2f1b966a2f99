// SPDX-License-Identifier: Apache-2.0
#include "rig/environment.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace kf {
namespace {

constexpr std::array<std::string_view, 9> kSecretParts{"API_KEY", "APIKEY",     "TOKEN",      "SECRET",     "PASSWORD",
                                                       "PASSWD",  "PASSPHRASE", "CREDENTIAL", "PRIVATE_KEY"};
constexpr std::array<std::string_view, 11> kWorkerNames{
    "PATH", "HOME", "USER", "LOGNAME", "LANG", "TMPDIR", "TERM", "SHELL", "TZ", "LD_LIBRARY_PATH", "XDG_CACHE_HOME"};
constexpr std::array<std::string_view, 6> kWorkerPrefixes{"LC_", "CUDA_", "NVIDIA_", "KFACTORY_", "ASAN_", "TSAN_"};

}  // namespace

bool names_a_secret(std::string_view name) {
  std::string upper(name);
  std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return std::ranges::any_of(kSecretParts,
                             [&](std::string_view part) { return upper.find(part) != std::string::npos; }) ||
         upper.ends_with("_KEY") || upper == "KEY" || upper.ends_with("_AUTH") || upper.starts_with("AWS_");
}

bool worker_may_see(std::string_view name) {
  const bool listed = std::ranges::find(kWorkerNames, name) != kWorkerNames.end() ||
                      std::ranges::any_of(kWorkerPrefixes, [&](std::string_view p) { return name.starts_with(p); });
  return listed && !names_a_secret(name);
}

bool launcher_may_see(std::string_view name) {
  return !names_a_secret(name);
}

}  // namespace kf
