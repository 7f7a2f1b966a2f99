// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <functional>
#include <map>
#include <random>
#include <set>

#include "agent/directions.h"
#include "agent/ranking.h"
#include "tests/unit/agent/agent_fixture.h"

namespace kf {
namespace {

SearchSettings in_flight(int w) {
  SearchSettings settings;
  settings.in_flight = w;
  return settings;
}
bool is_fresh(const Proposal& proposal) {
  return proposal.role == Role::kWriter && !proposal.parent;
}

// Runs the search: attempt k ends as `fate` says; its proposal is recorded as the ledger would.
template <class Fate>
std::vector<Proposal> search(Trail& run, std::int64_t count, const SearchSettings& settings, Fate fate) {
  std::vector<Proposal> proposals;
  for (std::int64_t k = 1; k <= count; ++k) {
    const std::int64_t visible = std::max<std::int64_t>(0, k - settings.in_flight);
    const Proposal proposal = next_proposal(k, run.first(visible), settings);
    Attempt& attempt = fate(run, k, proposal);
    attempt.role = proposal.role;
    attempt.parent = proposal.parent;
    attempt.direction = proposal.direction;
    proposals.push_back(proposal);
  }
  return proposals;
}

TEST(Directions, AreManyAndDifferent) {
  const Directions directions = read_directions();
  EXPECT_GE(directions.fresh.size(), 10U);
  EXPECT_GE(directions.improve.size(), 6U);
  std::set<std::string> names;
  for (const auto* list : {&directions.fresh, &directions.improve}) {
    for (const std::string& direction : *list) {
      EXPECT_NE(direction.find(':'), std::string::npos) << "a name, then what to do: " << direction;
      EXPECT_TRUE(names.insert(direction.substr(0, direction.find(':'))).second) << direction;
    }
  }
}

TEST(Policy, GivesTheFirstProposalsDifferentDirections) {
  for (const int w : {1, 4, 8}) {
    std::set<std::string> directions;
    for (std::int64_t k = 1; k <= w; ++k) {
      const Proposal proposal = next_proposal(k, {}, in_flight(w));
      EXPECT_TRUE(is_fresh(proposal));
      directions.insert(proposal.direction);
    }
    EXPECT_EQ(std::ssize(directions), w);
  }
}

TEST(Policy, RepairsAFailureAsSoonAsItIsVisibleAndOnce) {
  Trail run;
  const auto proposals = search(run, 12, in_flight(4), [](Trail& r, std::int64_t k, const Proposal&) -> Attempt& {
    return k == 2 ? r.rejected(Gate::kCheck, "mismatch") : r.measured(1.0);
  });
  std::vector<std::int64_t> repairs;
  for (std::size_t i = 0; i < proposals.size(); ++i) {
    if (proposals[i].role == Role::kRepairer) {
      repairs.push_back(static_cast<std::int64_t>(i) + 1);
      EXPECT_EQ(proposals[i].parent, std::optional(AttemptId{2}));
    }
  }
  EXPECT_THAT(repairs, testing::ElementsAre(6)) << "attempt 2 is seen first by proposal 2 + W";
}

TEST(Policy, StopsRepairingALineageAtTheLimit) {
  Trail run;
  SearchSettings settings = in_flight(1);
  settings.max_repairs = 2;
  const auto proposals = search(run, 7, settings, [](Trail& r, std::int64_t, const Proposal&) -> Attempt& {
    return r.rejected(Gate::kCompile, "errors");
  });
  std::vector<Role> roles;
  for (const Proposal& proposal : proposals) {
    roles.push_back(proposal.role);
  }
  EXPECT_THAT(roles, testing::ElementsAre(Role::kWriter, Role::kRepairer, Role::kRepairer, Role::kWriter,
                                          Role::kRepairer, Role::kRepairer, Role::kWriter));
  EXPECT_EQ(proposals[2].parent, std::optional(AttemptId{2})) << "a repair repairs the last state, not the first";
  EXPECT_NE(proposals[3].direction, proposals[0].direction);
}

TEST(Policy, NeverRepairsWhatCannotBeRepaired) {
  const auto next_after = [](const std::function<void(Trail&)>& add) {
    Trail run;
    add(run);
    return next_proposal(2, run.attempts(), in_flight(1)).role;
  };
  EXPECT_EQ(next_after([](Trail& r) { r.add(AttemptState::kNoReply); }), Role::kWriter);
  EXPECT_EQ(next_after([](Trail& r) { r.rejected(Gate::kReply, "unreadable"); }), Role::kWriter);
  EXPECT_EQ(next_after([](Trail& r) { r.rejected(Gate::kPhysics, "too_fast"); }), Role::kWriter);
  EXPECT_EQ(next_after([](Trail& r) { r.rejected(Gate::kCompile, "duplicate"); }), Role::kWriter);
  EXPECT_EQ(next_after([](Trail& r) { r.rejected(Gate::kCheck, "mismatch").source.clear(); }), Role::kWriter);
  EXPECT_EQ(next_after([](Trail& r) { r.measured(0.2); }), Role::kWriter);
  EXPECT_EQ(next_after([](Trail& r) { r.rejected(Gate::kConfirm, "mismatch"); }), Role::kRepairer);
}

TEST(Policy, DoesNotRepairAtAllWhenToldSo) {
  Trail run;
  run.rejected(Gate::kCheck, "mismatch");
  SearchSettings settings = in_flight(1);
  settings.max_repairs = 0;
  EXPECT_EQ(next_proposal(2, run.attempts(), settings).role, Role::kWriter);
}

TEST(Policy, BuildsOnTheFastestAndStillExplores) {
  Trail run;
  const auto proposals = search(run, 24, in_flight(4), [](Trail& r, std::int64_t k, const Proposal&) -> Attempt& {
    return r.measured(k == 3 ? 2.0 : 1.0 - 0.01 * static_cast<double>(k));
  });
  std::map<std::int64_t, int> children;
  int fresh = 0;
  for (std::size_t i = 7; i < proposals.size(); ++i) {
    fresh += is_fresh(proposals[i]) ? 1 : 0;
    children[proposals[i].parent.value_or(AttemptId{}).value] += 1;
  }
  EXPECT_GE(children[3], 2) << "the champion has children";
  EXPECT_GE(children.size(), 3U) << "and it is not the only parent";
  EXPECT_GE(fresh, 4);
}

TEST(Policy, GivesAParentsChildrenDifferentDirectionsAlsoInFlight) {
  Trail run;
  const auto proposals = search(run, 30, in_flight(6), [](Trail& r, std::int64_t k, const Proposal&) -> Attempt& {
    return r.measured(k == 1 ? 5.0 : 0.5);
  });
  std::map<std::int64_t, std::multiset<std::string>> asked;
  for (const Proposal& proposal : proposals) {
    if (proposal.parent) {
      asked[proposal.parent->value].insert(proposal.direction);
    }
  }
  const std::size_t limit = read_directions().improve.size();
  for (const auto& [parent, directions] : asked) {
    if (directions.size() <= limit) {
      EXPECT_EQ(std::set(directions.begin(), directions.end()).size(), directions.size()) << "children of " << parent;
    }
  }
}

TEST(Policy, UsesEachFreshDirectionBeforeItRepeatsOne) {
  Trail run;
  const std::size_t count = read_directions().fresh.size();
  const auto proposals =
      search(run, static_cast<std::int64_t>(count), in_flight(5),
             [](Trail& r, std::int64_t, const Proposal&) -> Attempt& { return r.add(AttemptState::kBuilt); });
  std::set<std::string> directions;
  for (const Proposal& proposal : proposals) {
    EXPECT_TRUE(is_fresh(proposal)) << "without a device nothing is known to be better";
    directions.insert(proposal.direction);
  }
  EXPECT_EQ(directions.size(), count);
}

TEST(Policy, StartsAfreshAndTriesOtherLinesWhenItStagnates) {
  Trail run;
  SearchSettings settings = in_flight(1);
  settings.stagnation = 4;
  const auto proposals = search(run, 24, settings, [](Trail& r, std::int64_t k, const Proposal&) -> Attempt& {
    return r.measured(k == 1 ? 3.0 : 1.0 + 0.001 * static_cast<double>(k));
  });
  int fresh = 0;
  for (std::size_t i = 6; i < proposals.size(); ++i) {
    fresh += is_fresh(proposals[i]) ? 1 : 0;
    EXPECT_NE(proposals[i].parent, std::optional(AttemptId{1})) << "the champion's line is left alone at " << i + 1;
  }
  EXPECT_GE(fresh, 8);
}

TEST(Policy, ForgetsStagnationWithANewChampion) {
  SearchSettings settings = in_flight(1);
  settings.stagnation = 3;
  Trail run;
  for (const double speedup : {2.0, 1.0, 1.0, 1.0, 3.0}) {
    run.measured(speedup);
  }
  // Every third proposal explores; two of three build on the champion.
  int children = 0;
  for (int i = 0; i < 3; ++i) {
    const auto k = static_cast<std::int64_t>(run.attempts().size()) + 1;
    const Proposal proposal = next_proposal(k, run.attempts(), settings);
    children += proposal.parent == std::optional(AttemptId{5}) ? 1 : 0;
    Attempt& attempt = run.add(AttemptState::kNoReply);
    attempt.parent = proposal.parent;
    attempt.direction = proposal.direction;
  }
  EXPECT_GE(children, 1);
}

TEST(Policy, TakesEqualCodeForOneLeader) {
  Trail run;
  run.measured(2.0).source_hash = "same";
  run.measured(2.1).source_hash = "same";
  run.measured(1.0);
  for (std::int64_t k = 4; k < 12; ++k) {
    EXPECT_NE(next_proposal(k, run.attempts(), in_flight(static_cast<int>(k) - 3)).parent, std::optional(AttemptId{2}));
  }
}

CaseScore in_case(const std::string& id, double to_baseline) {
  CaseScore score;
  score.case_id = id;
  score.candidate.median = 1000 * to_baseline;
  score.to_baseline = {to_baseline, to_baseline, to_baseline, 24};
  return score;
}
std::vector<std::int64_t> ids_of(const std::vector<const Attempt*>& attempts) {
  std::vector<std::int64_t> ids;
  std::ranges::transform(attempts, std::back_inserter(ids), [](const Attempt* a) { return a->id.value; });
  return ids;
}

TEST(Ranking, ComparesOnTheCasesThatAllHave) {
  Trail trail;
  // Screened in "a" only, where it does well; the other is better there and worse elsewhere.
  trail.measured(1.5).score->cases = {in_case("a", 0.67)};
  trail.measured(1.2).score->cases = {in_case("a", 0.5), in_case("b", 1.4)};
  EXPECT_THAT(ids_of(ranked(trail.attempts())), testing::ElementsAre(2, 1));
}

TEST(Ranking, LeavesOutRefusedFigures) {
  Trail trail;
  trail.measured(1.1);
  trail.measured(40.0).score->against_baseline = Comparison::kRefused;  // faster than physics
  EXPECT_THAT(ids_of(ranked(trail.attempts())), testing::ElementsAre(1));
}

TEST(Ranking, PrefersTheEarlierOfEqualOnes) {
  Trail trail;
  trail.measured(1.1);
  trail.measured(1.1);
  EXPECT_THAT(ids_of(ranked(trail.attempts())), testing::ElementsAre(1, 2));
}

// Equal arguments give equal answers, and a proposal depends on nothing but the closed attempts it may see.
TEST(Policy, IsAFunctionOfWhatIsVisible) {
  std::mt19937 random(5);
  for (int round = 0; round < 30; ++round) {
    const SearchSettings settings = in_flight(1 + static_cast<int>(random() % 6));
    Trail run;
    const auto fate = [&](Trail& r, std::int64_t, const Proposal&) -> Attempt& {
      switch (random() % 4) {
        case 0:
          return r.rejected(Gate::kCheck, "mismatch");
        case 1:
          return r.add(AttemptState::kNoReply);
        default:
          return r.measured(0.5 + static_cast<double>(random() % 100) / 50);
      }
    };
    const auto proposals = search(run, 25, settings, fate);
    for (std::int64_t k = 1; k <= 25; ++k) {  // as a resumed run would ask, with everything closed in the meantime
      const std::int64_t visible = std::max<std::int64_t>(0, k - settings.in_flight);
      const Proposal again = next_proposal(k, run.first(visible), settings);
      const Proposal& before = proposals[static_cast<std::size_t>(k) - 1];
      EXPECT_EQ(again.role, before.role);
      EXPECT_EQ(again.parent, before.parent);
      EXPECT_EQ(again.direction, before.direction);
    }
  }
}

TEST(Policy, NamesOnlyVisibleParents) {
  std::mt19937 random(9);
  const SearchSettings settings = in_flight(5);
  Trail run;
  const auto proposals = search(run, 60, settings, [&](Trail& r, std::int64_t, const Proposal&) -> Attempt& {
    return random() % 2 == 0 ? r.rejected(Gate::kCheck, "mismatch")
                             : r.measured(1.0 + static_cast<double>(random() % 9));
  });
  for (std::size_t i = 0; i < proposals.size(); ++i) {
    if (proposals[i].parent) {
      EXPECT_LE(proposals[i].parent->value, static_cast<std::int64_t>(i) + 1 - settings.in_flight);
    }
  }
}

}  // namespace
}  // namespace kf
