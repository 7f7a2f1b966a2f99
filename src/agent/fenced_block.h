// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace kf {

// One fenced block of a Markdown answer.
struct FencedBlock {
  int line = 0;          // of the opening fence, from 1
  std::string opening;   // that line
  std::string language;  // first word after the fence, lower case
  std::string text;      // lines between the fences, LF ends
  bool closed = false;   // false: the answer ended inside it
};

// Blocks fenced by at least three backticks or tildes, as CommonMark has them, at any indentation; CR LF becomes LF.
std::vector<FencedBlock> fenced_blocks(std::string_view answer);

}  // namespace kf
