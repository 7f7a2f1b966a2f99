// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "plan_reader.h"
#include "resolution.h"

namespace kf {
namespace {

std::vector<int> unique(std::vector<int> launches) {
  std::ranges::sort(launches);
  const auto [first, last] = std::ranges::unique(launches);
  launches.erase(first, last);
  return launches;
}

}  // namespace

void LaunchGraph::record(const std::string& kernel, std::int64_t index, std::vector<int> stands_for) {
  std::vector<std::vector<int>>& instances = instances_[kernel];
  instances.resize(static_cast<std::size_t>(index) + 1);
  instances.back() = stands_for;
  last_ = std::move(stands_for);
}

std::optional<std::vector<int>> LaunchGraph::waits(Resolution& to, std::size_t index, const Scope& in) {
  const KernelSpec& kernel = to.plan.kernels[index];
  if (!kernel.after_given) {
    return last_;
  }
  std::vector<int> launches;
  for (std::size_t i = 0; i < kernel.after.size(); ++i) {
    const std::string path = kernel_path(index) + ".after[" + std::to_string(i) + "]";
    const AfterText parts = split_after(kernel.after[i]);
    const auto instances = instances_.find(parts.id);
    const auto known = instances == instances_.end() ? std::vector<std::vector<int>>{} : instances->second;
    if (parts.index.empty()) {  // every instance
      for (const std::vector<int>& instance : known) {
        launches.insert(launches.end(), instance.begin(), instance.end());
      }
      continue;
    }
    const OrError<Expression> expression = Expression::parse(parts.index, path);
    const std::optional<std::int64_t> at =
        expression ? to.evaluate(*expression, in) : (to.errors.push_back(expression.error()), std::nullopt);
    if (!at) {
      return std::nullopt;
    }
    if (*at >= 0 && *at < static_cast<std::int64_t>(known.size())) {
      const std::vector<int>& instance = known[static_cast<std::size_t>(*at)];
      launches.insert(launches.end(), instance.begin(), instance.end());
    } else if (*at >= 0 && parts.id == kernel.id) {
      to.fail(path,
              "\"" + kernel.after[i] + "\" is " + parts.id + "[" + std::to_string(*at) +
                  "], which is not launched before this one",
              "a kernel may wait only for launches that come earlier");
      return std::nullopt;
    }  // else an edge of the pattern: k[-1], or past another kernel's end; there is nothing to wait for
  }
  return unique(std::move(launches));
}

}  // namespace kf
