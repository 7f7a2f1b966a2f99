// SPDX-License-Identifier: Apache-2.0
#include "gates/ill_conditioned.h"

#include <algorithm>
#include <cmath>

#include "gates/elements.h"
#include "gates/moved_inputs.h"

namespace kf {
namespace {

// An element that depends on two inputs (x / s at a rounding edge) moves only where both go the right way: one draw
// misses half of them, twelve one in 4096, and a large case has thousands. Where many are left after twelve, they are
// no jumps.
constexpr std::uint64_t kFirstDraws = 12, kMostDraws = 48;
constexpr std::size_t kLeftByChance = 64;  // one in so many of them, or as many as kFew
// What is moved of a case that is looked at in windows.
constexpr std::int64_t kMostWindows = 64, kFewestWindows = 8, kMostBytes = 32LL << 20;
// Equal inputs of narrow types jump together, and a stated share is one of the whole output: a row, or a window, may
// hold a few times as many. In rows of `mixed` contents an eighth may be one value.
constexpr double kTimesTheShare = 4.0;
constexpr std::int64_t kFew = 8, kOfARow = 4;

// Chance makes a few of a small output too many for its share.
std::int64_t few(std::int64_t elements) {
  return std::clamp<std::int64_t>(elements / kFew, 2, kFew);
}

std::int64_t times_the_share(const Bound& bound, std::int64_t elements) {
  return static_cast<std::int64_t>(kTimesTheShare * bound.ill_conditioned * static_cast<double>(elements));
}

std::int64_t most_in_a_row(const Bound& bound, std::int64_t columns) {
  return std::max({few(columns), times_the_share(bound, columns), columns / kOfARow});
}

std::int64_t columns_of(const Tensor& tensor) {
  return tensor.extent.empty() ? 1 : std::max<std::int64_t>(1, tensor.extent.back());
}

// The place of a window's elements in the whole: elements behind the window's dim, and the dim's extents.
struct Cut {
  std::int64_t inner = 1, whole = 1, first = 0, extent = 1;

  Cut(const Tensor& tensor, const Window& window) {
    const int dim = dim_of_axis(tensor, window.axis);
    for (std::size_t d = static_cast<std::size_t>(dim + 1); d < tensor.extent.size(); ++d) {
      inner *= tensor.extent[d];
    }
    if (dim >= 0) {
      whole = tensor.extent[static_cast<std::size_t>(dim)];
      first = window.first;
      extent = window.extent;
    }
  }
  std::int64_t in_whole(std::int64_t index) const {
    return (index / (extent * inner) * whole + first) * inner + index % (extent * inner);
  }
  std::int64_t along(std::int64_t index) const { return index / inner % whole; }
  std::int64_t in_window(std::int64_t index) const {
    return (index / (whole * inner) * extent + along(index) - first) * inner + index % inner;
  }
};

}  // namespace

IllConditioned::IllConditioned(Bench& bench, const Job& job, std::int32_t index, const CaseBuffers& buffers,
                               const Contents& contents, std::size_t output, const Bound& bound)
    : bench_(bench),
      job_(job),
      index_(index),
      buffers_(buffers),
      contents_(contents),
      output_(output),
      tensor_(buffers.of().tensors[output]),
      bound_(bound),
      reach_(MovedInputs::reach_of(job, index)) {}

std::int64_t IllConditioned::most(const Bound& bound, std::int64_t elements) {
  return bound.ill_conditioned == 0
             ? 0
             : std::max(few(elements),
                        static_cast<std::int64_t>(bound.ill_conditioned * static_cast<double>(elements)));
}

std::map<std::size_t, double> IllConditioned::excused(Reference& reference, std::uint64_t scrub_seed) {
  std::vector<Element> wrong = wrong_elements(reference, scrub_seed);
  if (wrong.empty() || rows_are_full(wrong)) {
    return {};
  }
  return take_jumps(reach_, wrong, derive_seed(scrub_seed, 2));
}

std::int64_t IllConditioned::plausible(Reference& reference, std::uint64_t scrub_seed) {
  const std::vector<Element> wrong = wrong_elements(reference, scrub_seed);
  if (rows_are_full(wrong)) {
    return 0;
  }
  const Cut cut(tensor_, reach_);
  std::map<std::int64_t, std::vector<Element>> windows;
  for (const Element& element : wrong) {
    windows[cut.along(element.index) / reach_.extent].push_back(element);
  }
  const std::int64_t most = times_the_share(bound_, part_of(tensor_, reach_).elements()) +
                            most_in_a_row(bound_, columns_of(part_of(tensor_, reach_)));
  if (std::ranges::any_of(windows, [&](const auto& window) { return std::ssize(window.second) > most; })) {
    return 0;
  }
  for (const std::int64_t number : windows_to_look_at(windows, derive_seed(scrub_seed, 3))) {
    Window window = reach_;
    window.first =
        std::min(number * reach_.extent, cut.whole - reach_.extent);  // the last one reaches into its neighbour
    take_jumps(window, windows[number], derive_seed(scrub_seed, 100 + static_cast<std::uint64_t>(number)));
    if (!windows[number].empty()) {
      return 0;
    }
  }
  return std::ssize(wrong);
}

// Elements and references that are not finite are not judged here.
std::vector<IllConditioned::Element> IllConditioned::wrong_elements(Reference& reference, std::uint64_t scrub_seed) {
  std::vector<Element> wrong;
  const auto seen = [&](const Window& part, const std::vector<double>& wanted, const std::vector<double>& conditions) {
    const std::vector<double> elements = decode_elements(read_elements(bench_, buffers_, output_, part), tensor_.dtype);
    const Cut cut(tensor_, part);
    for (std::size_t i = 0; i < elements.size(); ++i) {
      const double allowed =
          allowed_error(bound_, tensor_.dtype, wanted[i], conditions.empty() ? wanted[i] : conditions[i]);
      if (std::isfinite(elements[i]) && std::isfinite(wanted[i]) && !(std::abs(elements[i] - wanted[i]) <= allowed)) {
        wrong.push_back({cut.in_whole(static_cast<std::int64_t>(i)), elements[i], wanted[i], allowed});
      }
    }
  };
  reference.each_slice(index_, buffers_, contents_, tensor_.name, bound_.condition, derive_seed(scrub_seed, 1), seen);
  return wrong;
}

std::map<std::int64_t, std::int64_t> IllConditioned::by_row(const std::vector<Element>& wrong) const {
  std::map<std::int64_t, std::int64_t> rows;
  for (const Element& element : wrong) {
    ++rows[element.index / columns_of(tensor_)];
  }
  return rows;
}

bool IllConditioned::rows_are_full(const std::vector<Element>& wrong) const {
  const std::int64_t most = most_in_a_row(bound_, columns_of(tensor_));
  return std::ranges::any_of(by_row(wrong), [&](const auto& row) { return row.second > most; });
}

std::int64_t IllConditioned::most_windows() const {
  const std::int64_t of_one =
      std::max<std::int64_t>(1, bytes_of(buffers_.of()) / buffers_.of().axes.at(reach_.axis)) * reach_.extent;
  return std::clamp(kMostBytes / std::max<std::int64_t>(1, of_one), kFewestWindows, kMostWindows);
}

// The one with the worst element, a quarter by their densest row: there is what stands out. The rest by lot, of which
// no kernel knows.
std::set<std::int64_t> IllConditioned::windows_to_look_at(const std::map<std::int64_t, std::vector<Element>>& windows,
                                                          std::uint64_t seed) const {
  struct Rank {
    double farthest = 0;
    std::int64_t densest = 0;
    std::uint64_t lot = 0;
    std::int64_t number = 0;
  };
  const auto too_far = [](const Element& element) { return std::abs(element.out - element.wanted) - element.allowed; };
  std::vector<Rank> ranks;
  for (const auto& [number, elements] : windows) {
    const auto rows = by_row(elements);
    const auto densest = std::ranges::max_element(rows, {}, [](const auto& row) { return row.second; });
    const auto farthest = std::ranges::max_element(elements, {}, too_far);
    ranks.push_back(
        {too_far(*farthest), densest->second, derive_seed(seed, static_cast<std::uint64_t>(number)), number});
  }
  const auto most = static_cast<std::size_t>(most_windows());
  std::set<std::int64_t> chosen;
  if (!ranks.empty()) {
    chosen.insert(std::ranges::max_element(ranks, {}, &Rank::farthest)->number);
  }
  const std::size_t dense = std::min(most / 4, ranks.size());
  std::ranges::sort(ranks, [](const Rank& a, const Rank& b) {
    return a.densest != b.densest ? a.densest > b.densest : a.lot < b.lot;
  });
  std::ranges::sort(ranks.begin() + static_cast<std::ptrdiff_t>(dense), ranks.end(), {}, &Rank::lot);
  for (std::size_t i = 0; i < std::min(most, ranks.size()); ++i) {
    chosen.insert(ranks[i].number);
  }
  return chosen;
}

std::map<std::size_t, double> IllConditioned::take_jumps(const Window& window, std::vector<Element>& wrong,
                                                         std::uint64_t scrub_seed) {
  MovedInputs moved_inputs(bench_, job_, index_, buffers_, contents_, scrub_seed, window);
  const Cut cut(tensor_, window);
  const auto place = [&](const Element& element) { return static_cast<std::size_t>(cut.in_window(element.index)); };
  std::vector<Reach> reached(static_cast<std::size_t>(part_of(tensor_, window).elements()));
  for (const Element& element : wrong) {
    reached[place(element)] = {element.wanted, element.wanted};
  }
  // What a first rounding may make of it lies between the values that moved inputs give.
  const auto jumps_there = [&](const Element& element) {
    const auto [low, high] = reached[place(element)];
    const double out = element.out;
    return std::max(high - element.wanted, element.wanted - low) > element.allowed &&
           (out >= low || std::abs(out - low) <= element.allowed) &&
           (out <= high || std::abs(out - high) <= element.allowed);
  };
  std::map<std::size_t, double> jumps;
  const std::size_t by_chance = std::max(static_cast<std::size_t>(kFew), wrong.size() / kLeftByChance);
  for (std::uint64_t draw = 0; draw < kMostDraws && !wrong.empty(); ++draw) {
    if (draw == kFirstDraws && wrong.size() > by_chance) {
      break;
    }
    moved_inputs.reach(tensor_.name, draw, reached);
    std::erase_if(wrong, [&](const Element& element) {
      const bool jumps_here = jumps_there(element);
      if (jumps_here) {
        jumps.emplace(static_cast<std::size_t>(element.index), element.wanted);
      }
      return jumps_here;
    });
  }
  return jumps;
}

}  // namespace kf
