// SPDX-License-Identifier: Apache-2.0
#include "resumed.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace kf {

std::vector<std::string> remarks_on_resuming(const RunStart& start, const RunSettings& wanted, const Settings& given,
                                             bool emulator_first) {
  std::string kept;
  const auto compare = [&](std::string_view key, auto began_with, auto asked_for) {
    const SettingFacts* facts = setting_of(key);
    if (given.origin(key) == "built in" || began_with == asked_for || facts == nullptr) {
      return;
    }
    kept += fmt::format("{}{} {} (not {})", kept.empty() ? "" : ", ", facts->flag, began_with, asked_for);
  };
  compare("run.in_flight", start.search.in_flight, wanted.search.in_flight);
  compare("run.screen_cases", start.screen_cases, wanted.screen_cases);
  compare("run.max_variants", start.max_variants, wanted.max_variants);
  compare("run.margin", start.margin, wanted.margin);
  compare("model.max_output_tokens", start.search.max_output_tokens, wanted.search.max_output_tokens);

  std::vector<std::string> remarks;
  if (!kept.empty()) {
    remarks.push_back("what shapes the search stays as it was when this run began: " + kept);
  }
  if (start.emulator_first && *start.emulator_first != emulator_first) {
    remarks.emplace_back(emulator_first ? "so far candidates went to the GPU at once; from here on they meet the "
                                          "emulator first"
                                        : "so far candidates met the emulator before the GPU; from here on they go to "
                                          "the GPU at once");
  }
  return remarks;
}

std::vector<std::string> missing_replies(const std::string& folder) {
  constexpr std::string_view kRequest = ".request.md";
  namespace fs = std::filesystem;
  std::vector<std::string> missing;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (!name.ends_with(kRequest)) {
      continue;
    }
    std::string reply = name.substr(0, name.size() - kRequest.size()) + ".reply.md";
    std::error_code none;
    if (!fs::exists(at->path().parent_path() / reply, none)) {
      missing.push_back(std::move(reply));
    }
  }
  std::ranges::sort(missing);
  return missing;
}

}  // namespace kf
