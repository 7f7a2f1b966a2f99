// SPDX-License-Identifier: Apache-2.0
#include "agent/directions.h"

#include <kfactory/embedded.h>
#include <kfactory/error.h>

namespace kf {

Directions read_directions() {
  Directions directions;
  std::vector<std::string>* list = nullptr;
  std::string_view text = embedded_file("src/agent/prompts/directions.md");
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    if (line == "# fresh" || line == "# improve") {
      list = line == "# fresh" ? &directions.fresh : &directions.improve;
    } else if (line.starts_with("- ") && list != nullptr) {
      list->emplace_back(line.substr(2));
    }
  }
  if (directions.fresh.empty() || directions.improve.empty()) {
    throw Fatal("src/agent/prompts/directions.md needs items under \"# fresh\" and \"# improve\"");
  }
  return directions;
}

}  // namespace kf
