// SPDX-License-Identifier: Apache-2.0
// Which attempt comes next. A pure function of the closed attempts, so that a replay or a resumed run proposes the
// same.
//
// What is under way cannot be seen, but it can be computed: the proposals k - W + 1 .. k - 1 were made by this function
// from prefixes of what is visible now. Knowing them, no two proposals in flight get the same direction or repair.
#include <kfactory/agent.h>

#include <algorithm>
#include <deque>

#include "agent/directions.h"
#include "agent/ranking.h"

namespace kf {
namespace {

using Closed = std::span<const Attempt>;

const Attempt* find(Closed closed, AttemptId id) {
  const auto index = id.value - 1;
  if (index >= 0 && index < std::ssize(closed) && closed[static_cast<std::size_t>(index)].id == id) {
    return &closed[static_cast<std::size_t>(index)];
  }
  const auto found = std::ranges::find(closed, id, &Attempt::id);
  return found == closed.end() ? nullptr : &*found;
}

// A failure that another look at the code can mend. What was faster than physics, or equals an earlier attempt, is not.
bool repairable(const Attempt& attempt) {
  return attempt.state == AttemptState::kRejected && !attempt.source.empty() && attempt.verdict.gate != Gate::kReply &&
         attempt.verdict.gate != Gate::kPhysics && attempt.verdict.reason != "duplicate";
}

int repairs_in_a_row(Closed closed, const Attempt& attempt) {
  int repairs = 0;
  for (const Attempt* at = &attempt; at != nullptr && at->role == Role::kRepairer && at->parent;
       at = find(closed, *at->parent)) {
    ++repairs;
  }
  return repairs;
}

// The first attempt of a lineage: lines are told apart by it.
AttemptId root_of(Closed closed, const Attempt& attempt) {
  const Attempt* at = &attempt;
  while (at->parent) {
    const Attempt* parent = find(closed, *at->parent);
    if (parent == nullptr) {
      break;
    }
    at = parent;
  }
  return at->id;
}

// A proposal that was made; its text lives elsewhere: copies for each of ten thousand attempts would be felt.
struct Asked {
  Role role = Role::kWriter;
  std::optional<AttemptId> parent;
  std::string_view direction;
};

// One step of the search with everything it depends on.
class Step {
 public:
  Step(Closed closed, const std::vector<Asked>& asked, const SearchSettings& settings)
      : closed_(closed), asked_(asked), settings_(settings), directions_(read_directions()), leaders_(ranked(closed)) {}

  // `fresh_failure`: the attempt that became visible with this step, if any.
  Proposal next(const Attempt* newest) const {
    if (newest != nullptr && repairable(*newest) && repairs_in_a_row(closed_, *newest) < settings_.max_repairs) {
      return {Role::kRepairer, newest->id, newest->direction};
    }
    if (leaders_.empty()) {
      return explore();
    }
    const std::ptrdiff_t turn = std::ranges::count_if(asked_, [](const Asked& p) { return p.role != Role::kRepairer; });
    if (stagnates()) {
      const Attempt* other = best_of_another_line();
      return turn % 2 == 0 || other == nullptr ? explore() : improve(*other);
    }
    const bool untried = std::ranges::min(uses(directions_.fresh, std::nullopt)) == 0;
    return turn % 3 == 2 && untried ? explore() : improve(*most_promising());
  }

 private:
  // How often each direction was asked for, from this parent (or from nothing).
  std::vector<std::ptrdiff_t> uses(const std::vector<std::string>& list, std::optional<AttemptId> parent) const {
    std::vector<std::ptrdiff_t> counts(list.size());
    for (const Asked& asked : asked_) {
      if (asked.role == Role::kWriter && asked.parent == parent) {
        const auto at = std::ranges::find(list, asked.direction) - list.begin();
        if (at < std::ssize(list)) {
          ++counts[static_cast<std::size_t>(at)];
        }
      }
    }
    return counts;
  }
  // The first of those that were used least.
  std::size_t least_used(const std::vector<std::string>& list, std::optional<AttemptId> parent) const {
    const std::vector<std::ptrdiff_t> counts = uses(list, parent);
    return static_cast<std::size_t>(std::ranges::min_element(counts) - counts.begin());
  }
  Proposal explore() const {
    return {Role::kWriter, std::nullopt, directions_.fresh[least_used(directions_.fresh, std::nullopt)]};
  }
  Proposal improve(const Attempt& parent) const {
    return {Role::kWriter, parent.id, directions_.improve[least_used(directions_.improve, parent.id)]};
  }

  // Rank against children: a leader that was built upon often without being overtaken gives way to the next.
  const Attempt* most_promising() const {
    constexpr std::size_t kFront = 5;
    constexpr double kChild = 0.75;  // of a rank
    const Attempt* best = nullptr;
    double best_cost = 0;
    for (std::size_t rank = 0; rank < std::min(leaders_.size(), kFront); ++rank) {
      const AttemptId id = leaders_[rank]->id;
      const auto children = std::ranges::count_if(
          asked_, [&](const Asked& p) { return p.role == Role::kWriter && p.parent == std::optional(id); });
      const double cost = static_cast<double>(rank) + kChild * static_cast<double>(children);
      if (best == nullptr || cost < best_cost) {
        best = leaders_[rank];
        best_cost = cost;
      }
    }
    return best;
  }

  bool stagnates() const {
    const AttemptId champion = leaders_.front()->id;
    const std::ptrdiff_t since = std::ranges::count_if(closed_, [&](const Attempt& attempt) {
      return attempt.id > champion && attempt.state == AttemptState::kMeasured;
    });
    return since >= settings_.stagnation;
  }
  const Attempt* best_of_another_line() const {
    const AttemptId champion = root_of(closed_, *leaders_.front());
    const auto other =
        std::ranges::find_if(leaders_, [&](const Attempt* a) { return root_of(closed_, *a) != champion; });
    return other == leaders_.end() ? nullptr : *other;
  }

  Closed closed_;
  const std::vector<Asked>& asked_;
  const SearchSettings& settings_;
  Directions directions_;
  std::vector<const Attempt*> leaders_;
};

}  // namespace

Proposal next_proposal(std::int64_t k, std::span<const Attempt> visible, const SearchSettings& settings) {
  const std::int64_t in_flight = std::max(1, settings.in_flight);
  std::deque<Proposal> in_between;  // made here; they stay where they are
  std::vector<Asked> asked;
  asked.reserve(visible.size() + static_cast<std::size_t>(in_flight));
  for (const Attempt& attempt : visible) {
    asked.push_back({attempt.role, attempt.parent, attempt.direction});
  }
  while (true) {
    const std::int64_t step = std::ssize(asked) + 1;  // proposals before it are known
    const std::int64_t seen = std::clamp<std::int64_t>(step - in_flight, 0, std::ssize(visible));
    const Closed closed = visible.first(static_cast<std::size_t>(seen));
    const bool fresh = seen > 0 && seen == step - in_flight;
    Proposal proposal = Step(closed, asked, settings).next(fresh ? &closed.back() : nullptr);
    if (step >= k) {
      return proposal;
    }
    const Proposal& made = in_between.emplace_back(std::move(proposal));
    asked.push_back({made.role, made.parent, made.direction});
  }
}

}  // namespace kf
