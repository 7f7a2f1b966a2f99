// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <kfactory/attempt.h>
#include <kfactory/device_facts.h>
#include <kfactory/lesson.h>
#include <kfactory/model.h>
#include <kfactory/plan.h>
#include <kfactory/spec.h>

// What the agents are told and what is read from their answers. Pure: plain functions over plain values.

namespace kf {

struct SearchSettings {
  std::int32_t in_flight = 4;    // W: proposal k sees attempts up to k - W
  std::int32_t max_repairs = 2;  // of one attempt's lineage in a row
  std::int32_t stagnation = 8;   // measured attempts without a new champion before a fresh start
  std::int64_t max_output_tokens = 16'000;
  std::int64_t prompt_bytes = 60'000;  // what `prompt` may hold beside the prefix
};

// What attempt `k` should be: a fresh candidate, a better version of a parent, or a repair of a failure.
struct Proposal {
  Role role = Role::kWriter;
  std::optional<AttemptId> parent;
  std::string direction;  // in words, for the prompt and the record
};

// Deterministic: equal arguments give equal answers. `visible` holds attempts 1 .. k - W, all closed.
Proposal next_proposal(std::int64_t k, std::span<const Attempt> visible, const SearchSettings& settings);

struct TaskView {
  const Spec* spec = nullptr;
  DeviceFacts facts;
  std::span<const Attempt> visible;
  std::span<const Lesson> lessons;  // of earlier runs, those whose scope fits, best first
  std::string secret_free_note;     // "emulator: figures are estimates", "no device"
};

// held_out cases, seeds and the run's secret never reach a prompt: compose reads none of them.
ModelCall compose_call(const Proposal& proposal, const TaskView& task, std::uint64_t ordinal,
                       const SearchSettings& settings);
// The one re-ask that quotes the errors of an answer that could not be read.
ModelCall compose_reask(const ModelCall& first, std::string_view answer, const Errors& errors, std::uint64_t ordinal);

// The one fenced code block of an answer, with its launch plan. Errors quote line and JSON path.
OrErrors<Candidate> read_candidate(std::string_view answer);

ModelCall compose_librarian_call(const TaskView& task, std::uint64_t ordinal, const SearchSettings& settings);
// Lessons from the Librarian's answer. Effects are computed from `attempts`; an unknown attempt id, or one
// without a score, voids the lesson. `voided` receives one line for each void lesson.
OrErrors<std::vector<Lesson>> read_lessons(std::string_view answer, const TaskView& task,
                                           std::span<const Attempt> attempts, std::string_view origin,
                                           std::vector<std::string>& voided);
std::string lessons_markdown(std::span<const Lesson> lessons);

// Lessons whose scope fits a spec and architecture, most confident first, at most `limit`.
std::vector<Lesson> lessons_for(std::span<const Lesson> store, const Spec& spec, std::string_view arch,
                                std::size_t limit);
// Merges by id: evidence is united.
std::vector<Lesson> merge_lessons(std::vector<Lesson> store, std::span<const Lesson> more);

}  // namespace kf
