// SPDX-License-Identifier: Apache-2.0
// The words that files, prompts and the console use for each enumeration. Tables: a missing word fails to compile
// as an array of the wrong size, and tests/unit/format walks all of them.
#include <kfactory/attempt.h>
#include <kfactory/device.h>
#include <kfactory/factory.h>
#include <kfactory/ledger.h>
#include <kfactory/model.h>
#include <kfactory/verdict.h>

#include <algorithm>
#include <array>

namespace kf {
namespace {

using Words = std::string_view;
template <class E, std::size_t N>
std::string_view word(const std::array<Words, N>& words, E value) {
  return words.at(static_cast<std::size_t>(value));
}
template <class E, std::size_t N>
std::optional<E> value_of(const std::array<Words, N>& words, std::string_view name) {
  const auto* found = std::ranges::find(words, name);
  return found == words.end() ? std::nullopt : std::optional(static_cast<E>(found - words.begin()));
}

constexpr std::array<Words, 13> kGates{"reply",   "source audit", "compile",   "binary audit", "plan",
                                       "check",   "repeat",       "relations", "perturbation", "timed run",
                                       "physics", "cliffs",       "confirm"};
constexpr std::array<Words, 5> kRoles{"planner", "writer", "repairer", "reviewer", "librarian"};
constexpr std::array<Words, 8> kFinishes{"done", "length",       "refused", "filtered",
                                         "tool", "context_full", "error",   "unknown"};
constexpr std::array<Words, 13> kModelErrors{"unreachable", "timeout",      "authentication", "quota",    "rate_limit",
                                             "bad_request", "context_full", "server",         "protocol", "cancelled",
                                             "no_reply",    "waiting",      "budget"};
constexpr std::array<Words, 10> kStages{"opened",   "replied", "candidate", "built",  "verdict",
                                        "measured", "scored",  "closed",    "lesson", "run"};
constexpr std::array<Words, 5> kBuildFailures{"errors", "timeout", "memory", "crash", "policy"};
constexpr std::array<Words, 8> kDeviceFaults{"illegal_access", "timeout", "out_of_memory", "launch_refused",
                                             "unsupported",    "checker", "lost",          "launch_truth"};
constexpr std::array<Words, 5> kMethods{"events", "graph", "cupti", "estimate", "host"};
constexpr std::array<Words, 5> kComparisons{"win", "loss", "tie", "inconclusive", "refused"};
constexpr std::array<Words, 5> kStates{"open", "no_reply", "rejected", "built", "measured"};
constexpr std::array<Words, 6> kStops{"budget",       "interrupted", "waiting",
                                      "model_failed", "rig_failed",  "nothing_to_do"};

}  // namespace

std::string_view to_string(Gate gate) {
  return word(kGates, gate);
}
std::string_view to_string(Role role) {
  return word(kRoles, role);
}
std::optional<Role> role_from_string(std::string_view name) {
  return value_of<Role>(kRoles, name);
}
std::string_view to_string(Finish finish) {
  return word(kFinishes, finish);
}
std::string_view to_string(ModelError::Kind kind) {
  return word(kModelErrors, kind);
}
std::string_view to_string(Stage stage) {
  return word(kStages, stage);
}
std::optional<Stage> stage_from_string(std::string_view name) {
  return value_of<Stage>(kStages, name);
}
std::string_view to_string(BuildFailure::Kind kind) {
  return word(kBuildFailures, kind);
}
std::string_view to_string(DeviceFault::Kind kind) {
  return word(kDeviceFaults, kind);
}
std::string_view to_string(ClockMethod method) {
  return word(kMethods, method);
}
std::string_view to_string(Comparison comparison) {
  return word(kComparisons, comparison);
}
std::string_view to_string(AttemptState state) {
  return word(kStates, state);
}
std::string_view to_string(StopReason reason) {
  return word(kStops, reason);
}

}  // namespace kf
