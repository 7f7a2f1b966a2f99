// SPDX-License-Identifier: Apache-2.0
#include "format/nearest.h"

#include <algorithm>
#include <cctype>
#include <numeric>

namespace kf {
namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

// Replaced, missing, extra and swapped neighbouring letters count one each.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::vector<std::size_t> next(b.size() + 1, i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      next[j + 1] = std::min({row[j] + (a[i] == b[j] ? 0 : 1), row[j + 1] + 1, next[j] + 1});
      if (i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j]) {
        next[j + 1] = std::min(next[j + 1], before[j - 1] + 1);
      }
    }
    before = std::move(row);
    row = std::move(next);
  }
  return row.back();
}

}  // namespace

std::string nearest_name(std::string_view name, const std::vector<std::string>& names) {
  constexpr std::size_t kLongest = 64;  // nobody mistypes more than that
  std::string best;
  std::size_t best_distance = kLongest;
  if (name.empty() || name.size() > kLongest) {
    return best;
  }
  for (const std::string& candidate : names) {
    const std::size_t distance = edit_distance(lower(name), lower(candidate));
    const std::size_t allowed = std::max(name.size(), candidate.size()) / 3;
    if (distance <= allowed && distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& names) {
  const std::string best = nearest_name(name, names);
  return best.empty() ? "" : "did you mean \"" + best + "\"?";
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    text += (text.empty() ? "" : ", ") + name;
  }
  return text;
}

}  // namespace kf
