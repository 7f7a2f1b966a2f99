// SPDX-License-Identifier: Apache-2.0
#include "neighbours.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <set>

#include <kfactory/varied_case.h>

#include "cases.h"

namespace kf {
namespace {

constexpr std::int64_t kTile = 64;
constexpr std::uint64_t kNear = 24, kFar = 1024;  // steps of a drawn pitch
constexpr std::int64_t k32Bits = std::int64_t{1} << 31;
constexpr std::int64_t kReach = 4;  // a spec whose largest timed tensor is within this factor of 2^31 elements means it

bool is_prime(std::int64_t n) {
  for (std::int64_t d = 2; d * d <= n; ++d) {
    if (n % d == 0) {
      return false;
    }
  }
  return n > 1;
}
std::int64_t next_prime(std::int64_t from, std::int64_t step) {
  std::int64_t n = from + step;
  while (n > 1 && !is_prime(n)) {
    n += step;
  }
  return n;
}

// Most telling first.
std::vector<std::int64_t> values_near(std::int64_t value) {
  std::vector<std::int64_t> values{
      value - 1, value + 1,     next_prime(value - 1, -1), value - value % kTile + kTile + 1, next_prime(value + 1, 1),
      1,         value / 2 + 1, value - kTile / 2 - 1};
  std::vector<std::int64_t> kept;
  for (const std::int64_t near : values) {
    if (near > 0 && near != value && std::ranges::find(kept, near) == kept.end()) {
      kept.push_back(near);
    }
  }
  return kept;
}

std::vector<std::string> var_axes(const Spec& spec) {
  std::vector<std::string> names;
  for (const auto& [name, axis] : spec.axes) {
    if (axis.kind == Axis::Kind::kVar) {
      names.push_back(name);
    }
  }
  return names;
}

// The same case when it fits; else with its slice axis cut until it does.
std::optional<Case> fitted(const Spec& spec, const Case& of, Variation other, std::int64_t bytes) {
  OrError<Case> made = varied_case(spec, of, other, "held_out");
  const std::string& slice = spec.reference.slice;
  if (made && bytes_of(*made) > bytes && !slice.empty() && !other.axes.contains(slice)) {
    const double share = static_cast<double>(bytes) / static_cast<double>(bytes_of(*made));
    other.axes[slice] =
        std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(made->axes.at(slice)) * share));
    made = varied_case(spec, of, other, "held_out");
  }
  return made && bytes_of(*made) <= bytes ? std::optional(std::move(*made)) : std::nullopt;
}

template <class T>
void shuffle(std::vector<T>& items, std::uint64_t seed) {
  std::uint64_t state = seed;
  for (std::size_t i = items.size(); i > 1; --i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    std::swap(items[i - 1], items[(state >> 33) % i]);
  }
}

}  // namespace

std::vector<Case> neighbours(const Spec& spec, const std::vector<Case>& timed, std::uint64_t seed, std::int64_t bytes,
                             std::size_t count) {
  struct Choice {
    const Case* of;
    std::string axis;
    std::size_t kind;
  };
  std::vector<Choice> choices;
  for (const Case& of : timed) {
    for (const std::string& axis : var_axes(spec)) {
      for (std::size_t kind = 0; kind < values_near(of.axes.at(axis)).size(); ++kind) {
        choices.push_back({&of, axis, kind});
      }
    }
  }
  shuffle(choices, seed);
  // Kinds in turn: with few choices allowed, one of each before a second of any.
  std::map<std::pair<std::string, std::size_t>, std::size_t> taken;
  std::vector<std::size_t> round(choices.size());
  for (std::size_t i = 0; i < choices.size(); ++i) {
    round[i] = taken[{choices[i].axis, choices[i].kind}]++;
  }
  std::vector<std::size_t> order(choices.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i] = i;
  }
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return round[i]; });

  std::vector<Case> made;
  std::set<std::string> seen;
  for (const std::size_t i : order) {
    const Choice& choice = choices[i];
    const std::int64_t value = values_near(choice.of->axes.at(choice.axis))[choice.kind];
    std::optional<Case> near =
        made.size() < count ? fitted(spec, *choice.of, {{{choice.axis, value}}, {}}, bytes) : std::nullopt;
    if (near && elements_of(*near) > 0 && seen.insert(near->id.value).second) {
      made.push_back(std::move(*near));
    }
  }
  return made;
}

std::vector<std::string> pitch_axes(const Spec& spec) {
  std::set<std::string> strides, others;
  for (const TensorSpec& tensor : spec.tensors) {
    for (const Expression& stride : tensor.strides) {
      std::ranges::copy(stride.names(), std::inserter(strides, strides.end()));
    }
    for (const Expression& extent : tensor.shape) {
      std::ranges::copy(extent.names(), std::inserter(others, others.end()));
    }
  }
  for (const auto& [name, axis] : spec.axes) {
    std::ranges::copy(axis.expression.names(), std::inserter(others, others.end()));
  }
  std::vector<std::string> found;
  for (const auto& [name, axis] : spec.axes) {
    if (axis.kind == Axis::Kind::kExpr && strides.contains(name) && !others.contains(name)) {
      found.push_back(name);
    }
  }
  return found;
}

std::int64_t away_from_expression(const Spec& spec, const Case& of, const std::string& axis) {
  const auto found = std::ranges::find(spec.axes, axis, [](const auto& entry) { return entry.first; });
  if (found == spec.axes.end() || found->second.kind != Axis::Kind::kExpr) {
    return 0;
  }
  const OrError<std::int64_t> usual = found->second.expression.evaluate(scope_of(spec, of));
  return usual ? of.axes.at(axis) - *usual : 0;
}

std::vector<Case> other_choices(const Spec& spec, const std::vector<Case>& timed, std::uint64_t seed,
                                std::int64_t bytes) {
  std::vector<Case> made;
  if (timed.empty()) {
    return made;
  }
  std::uint64_t state = seed;
  const auto draw = [&](std::uint64_t below) { return splitmix64(state) % below; };
  const Case& of = timed[draw(timed.size())];
  Map<double> scalars;
  for (const auto& [name, value] : of.scalars) {
    if (is_floating(of.scalar_types.at(name)) && value != 0.0) {
      scalars[name] = value * (0.7 + 0.25 * static_cast<double>(draw(1000)) / 1000.0);
    }
  }
  Map<std::int64_t> pitches;
  for (const std::string& axis : pitch_axes(spec)) {
    std::set<std::int64_t> listed;
    for (const auto& [set, cases] : spec.cases) {
      for (const Case& known : cases) {
        listed.insert(away_from_expression(spec, known, axis));
      }
    }
    // Where the listed ones are multiples of eight, say, that may be meant.
    const std::int64_t step = std::max<std::int64_t>(
        1, std::accumulate(listed.begin(), listed.end(), std::int64_t{0}, std::gcd<std::int64_t, std::int64_t>));
    // Every other one is far: a kernel may take such a pitch for a dense one.
    std::int64_t away = step * (1 + static_cast<std::int64_t>(draw(draw(2) == 0 ? kNear : kFar)));
    while (listed.contains(away)) {
      away += step;
    }
    if (listed.size() > 1) {
      pitches[axis] = of.axes.at(axis) + away;
    }
  }
  const auto add = [&](std::optional<Case> other) {
    if (other && elements_of(*other) > 0) {
      made.push_back(std::move(*other));
    }
  };
  add(scalars.empty() ? std::nullopt : fitted(spec, of, {{}, std::move(scalars)}, bytes));
  add(pitches.empty() ? std::nullopt : fitted(spec, of, {std::move(pitches), {}}, bytes));
  return made;
}

std::vector<CloseNeighbour> close_neighbours(const Spec& spec, const std::vector<Case>& timed, std::uint64_t seed,
                                             std::int64_t bytes) {
  std::vector<CloseNeighbour> made;
  std::set<std::string> seen;
  std::uint64_t use = seed;
  for (std::size_t i = 0; i < timed.size(); ++i) {
    for (const std::string& axis : var_axes(spec)) {
      const std::int64_t value = timed[i].axes.at(axis);
      std::vector<std::int64_t> near{value - 1, value + 1, next_prime(value, 1)};
      shuffle(near, ++use);
      for (const std::int64_t other : near) {
        OrError<Case> neighbour = resized_case(spec, timed[i], {{axis, other}}, "held_out");
        const bool fits = neighbour && other > 0 && value > 1 && bytes_of(*neighbour) <= bytes;
        if (fits && seen.insert(neighbour->id.value).second) {
          made.push_back({i, std::move(*neighbour)});
          break;
        }
      }
    }
  }
  return made;
}

std::optional<Case> beyond_32_bits(const Spec& spec, const std::vector<Case>& timed, const DeviceFacts& facts) {
  const std::string& axis = spec.reference.slice;
  if (axis.empty() || timed.empty()) {
    return std::nullopt;
  }
  const Case* largest = &*std::ranges::max_element(timed, {}, elements_of);
  // The narrowest of its size: twice the elements in the same memory.
  for (const Case& of : timed) {
    largest = elements_of(of) == elements_of(*largest) && bytes_of(of) < bytes_of(*largest) ? &of : largest;
  }
  std::int64_t most = 0;
  for (const Tensor& tensor : largest->tensors) {
    const bool cut = std::ranges::find(tensor.dims, axis) != tensor.dims.end();
    most = std::max(most, cut ? tensor.elements() : 0);
  }
  const std::int64_t extent = largest->axes.at(axis);
  if (most < k32Bits / kReach || extent <= 0) {
    return std::nullopt;
  }
  const std::int64_t each = std::max<std::int64_t>(1, most / extent);
  OrError<Case> made = resized_case(spec, *largest, {{axis, k32Bits / each + 1}}, "held_out");
  constexpr std::int64_t kReferenceRoom = 4LL << 30;
  const bool fits = made && bytes_of(*made) + kReferenceRoom <= facts.memory_bytes / 2;
  return fits ? std::optional(std::move(*made)) : std::nullopt;
}

std::optional<Case> slim(const Spec& spec, const Case& timed, std::int64_t elements) {
  const std::string& axis = spec.reference.slice;
  Map<std::int64_t> axes;
  if (!axis.empty() && elements_of(timed) > elements) {
    const double share = static_cast<double>(elements) / static_cast<double>(elements_of(timed));
    const auto extent = static_cast<std::int64_t>(static_cast<double>(timed.axes.at(axis)) * share);
    axes[axis] = std::clamp<std::int64_t>(extent, 1, 64);
  }
  OrError<Case> made = resized_case(spec, timed, axes, "held_out");
  return made && elements_of(*made) <= 2 * elements ? std::optional(std::move(*made)) : std::nullopt;
}

}  // namespace kf
