// SPDX-License-Identifier: Apache-2.0
// The calls of Writer, Repairer and Librarian. system: the role. prefix: the task, equal in every call. prompt: what is
// new, at most SearchSettings::prompt_bytes; a parent's source is never cut, whatever that takes, the rest gives way
// and says so.
#include <kfactory/agent.h>

#include <algorithm>

#include "agent/attempt_text.h"
#include "agent/prompts.h"
#include "agent/task_prefix.h"

namespace kf {
namespace {

const Attempt* find(std::span<const Attempt> visible, AttemptId id) {
  const auto found = std::ranges::find(visible, id, &Attempt::id);
  return found == visible.end() ? nullptr : &*found;
}

// What is left of the prompt's bytes after `used`, but always enough for a few rows.
std::size_t room(const SearchSettings& settings, std::size_t used) {
  constexpr std::size_t kLeast = 1'500;
  const auto total = static_cast<std::size_t>(std::max<std::int64_t>(settings.prompt_bytes, 0));
  return std::max(kLeast, total > used ? total - used : 0);
}

std::string assignment_text(const Proposal& proposal, const Attempt* parent) {
  if (parent != nullptr) {
    return "Write a better version of attempt " + std::to_string(parent->id.value) + " (below). Direction:\n\n> " +
           safe_line(proposal.direction, 1'000) +
           "\n\nIf the figures below show a better way to the same end, take it, and say so in the hypothesis.";
  }
  return "Write a new candidate from nothing, in this direction:\n\n> " + safe_line(proposal.direction, 1'000) +
         "\n\nOther proposals follow other directions at the same time: stay with this one, and make the best of it "
         "for every "
         "timed case.";
}

std::string parent_text(const TaskView& task, const Attempt& parent, const SearchSettings& settings) {
  std::string text = "## Attempt " + std::to_string(parent.id.value) + "\n\n";
  text += "Hypothesis: " + safe_line(parent.hypothesis, 500) + "\n";
  const std::string source = "\n" + fenced("cuda", parent.source) + "\n";
  return text + performance_text(task, parent, room(settings, source.size()) / 2) + source;
}

int repairs_before(std::span<const Attempt> visible, const Attempt& attempt) {
  int count = 0;
  for (const Attempt* at = &attempt; at != nullptr && at->role == Role::kRepairer && at->parent;
       at = find(visible, *at->parent)) {
    ++count;
  }
  return count;
}

ModelCall call_of(Role role, const char* system, const TaskView& task, std::uint64_t ordinal,
                  const SearchSettings& settings) {
  ModelCall call;
  call.role = role;
  call.ordinal = ordinal;
  call.system = fill_prompt(system, {});
  call.prefix = task_prefix(task);
  call.max_output_tokens = settings.max_output_tokens;
  return call;
}

std::string writer_prompt(const Proposal& proposal, const TaskView& task, const Attempt* parent,
                          const SearchSettings& settings) {
  const std::string assignment = assignment_text(proposal, parent);
  const std::string about = parent == nullptr ? "" : parent_text(task, *parent, settings);
  const AttemptId* keep = parent == nullptr ? nullptr : &parent->id;
  return fill_prompt("writer",
                     {{"assignment", assignment},
                      {"parent", about},
                      {"history", history_text(task.visible, keep, room(settings, assignment.size() + about.size()))}});
}

std::string repairer_prompt(const TaskView& task, const Attempt& broken, const SearchSettings& settings) {
  constexpr std::size_t kMessageBytes = 6'000;
  const std::string failure = failure_text(task, broken, kMessageBytes);
  const std::string source = fenced("cuda", broken.source);
  return fill_prompt(
      "repairer",
      {{"attempt", std::to_string(broken.id.value)},
       {"repair", std::to_string(repairs_before(task.visible, broken) + 1)},
       {"max_repairs", std::to_string(settings.max_repairs)},
       {"direction", safe_line(broken.direction, 500)},
       {"hypothesis", safe_line(broken.hypothesis, 500)},
       {"failure", failure},
       {"source", source},
       {"history", history_text(task.visible, &broken.id, room(settings, failure.size() + source.size()))}});
}

}  // namespace

ModelCall compose_call(const Proposal& proposal, const TaskView& task, std::uint64_t ordinal,
                       const SearchSettings& settings) {
  const Attempt* parent = proposal.parent ? find(task.visible, *proposal.parent) : nullptr;
  if (proposal.role == Role::kRepairer && parent != nullptr) {
    ModelCall call = call_of(Role::kRepairer, "system_repairer", task, ordinal, settings);
    call.prompt = repairer_prompt(task, *parent, settings);
    return call;
  }
  ModelCall call = call_of(proposal.role, "system_writer", task, ordinal, settings);
  call.prompt = writer_prompt(proposal, task, parent, settings);
  return call;
}

ModelCall compose_reask(const ModelCall& first, std::string_view answer, const Errors& errors, std::uint64_t ordinal) {
  constexpr std::size_t kErrorBytes = 4'000;
  constexpr std::size_t kAnswerBytes = 40'000;
  ModelCall call = first;
  call.ordinal = ordinal;
  call.prompt = fill_prompt("reask", {{"prompt", first.prompt},
                                      {"errors", fenced("", safe_text(to_string(errors), kErrorBytes))},
                                      {"answer", fenced("", safe_text(answer, kAnswerBytes))}});
  return call;
}

ModelCall compose_librarian_call(const TaskView& task, std::uint64_t ordinal, const SearchSettings& settings) {
  std::string axes;
  for (const auto& [name, axis] : task.spec->axes) {
    axes += (axes.empty() ? "`" : ", `") + name + "`";
  }
  const std::size_t half = room(settings, 0) / 2;
  const Attempt* leader = leader_of(task.visible);
  const std::string times = times_text(task, half / 2);
  const std::string about = leader == nullptr ? ""
                                              : "The fastest, attempt " + std::to_string(leader->id.value) + ":\n\n" +
                                                    fenced("cuda", leader->source);
  ModelCall call = call_of(Role::kLibrarian, "system_librarian", task, ordinal, settings);
  call.prompt = fill_prompt(
      "librarian",
      {{"history", history_text(task.visible, nullptr, half)}, {"times", times}, {"leader", about}, {"axes", axes}});
  return call;
}

}  // namespace kf
