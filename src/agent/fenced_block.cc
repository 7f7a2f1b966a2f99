// SPDX-License-Identifier: Apache-2.0
#include "agent/fenced_block.h"

#include <algorithm>
#include <cctype>
#include <optional>

namespace kf {
namespace {

struct Fence {
  char mark = 0;
  std::size_t indent = 0, length = 0;
  std::string_view info;
};

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  return first == std::string_view::npos ? std::string_view()
                                         : text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::optional<Fence> fence_of(std::string_view line) {
  Fence fence;
  fence.indent = line.find_first_not_of(" \t");
  if (fence.indent == std::string_view::npos || (line[fence.indent] != '`' && line[fence.indent] != '~')) {
    return std::nullopt;
  }
  fence.mark = line[fence.indent];
  const std::size_t end = std::min(line.find_first_not_of(fence.mark, fence.indent), line.size());
  fence.length = end - fence.indent;
  fence.info = trimmed(line.substr(end));
  // Three backticks with a backtick after them are inline code.
  if (fence.length < 3 || (fence.mark == '`' && fence.info.find('`') != std::string_view::npos)) {
    return std::nullopt;
  }
  return fence;
}

std::string language_of(std::string_view info) {
  std::string word(info.substr(0, info.find_first_of(" \t{:,")));
  std::ranges::transform(word, word.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return word;
}

// The fence's own indentation, at most, as for a block inside a list.
std::string_view without_indent(std::string_view line, std::size_t indent) {
  const std::size_t first = std::min(line.find_first_not_of(" \t"), line.size());
  return line.substr(std::min(first, indent));
}

}  // namespace

std::vector<FencedBlock> fenced_blocks(std::string_view answer) {
  std::vector<FencedBlock> blocks;
  std::optional<Fence> open;
  for (int number = 1; !answer.empty(); ++number) {
    const std::size_t end = answer.find('\n');
    std::string_view line = answer.substr(0, end);
    answer = end == std::string_view::npos ? std::string_view() : answer.substr(end + 1);
    while (line.ends_with('\r')) {
      line.remove_suffix(1);
    }
    const std::optional<Fence> fence = fence_of(line);
    if (!open) {
      if (fence) {
        open = fence;
        blocks.push_back({number, std::string(line), language_of(fence->info), "", false});
      }
      continue;
    }
    if (fence && fence->mark == open->mark && fence->length >= open->length && fence->info.empty()) {
      blocks.back().closed = true;
      open.reset();
      continue;
    }
    blocks.back().text += std::string(without_indent(line, open->indent)) + '\n';
  }
  return blocks;
}

}  // namespace kf
