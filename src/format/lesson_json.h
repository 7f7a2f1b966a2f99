// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include <kfactory/error.h>
#include <kfactory/lesson.h>

// JSON of lessons (docs/formats/lessons.md), and of what a Librarian claims before it was held against the ledger.

namespace kf {

// One line, without the newline.
std::string lesson_json(const Lesson& lesson);
OrError<Lesson> lesson_from_json(std::string_view json);

// lessons.jsonl: one lesson a line; empty lines are skipped. Errors carry `name`:line, all of them at once.
std::string lessons_jsonl(const std::vector<Lesson>& lessons);
OrErrors<std::vector<Lesson>> lessons_from_jsonl(std::string_view text, const std::string& name);

// "L-" and 12 hexadecimal digits of claim and scope: equal lessons of two runs are one lesson.
std::string lesson_id(const Lesson& lesson);

// What a model says: which attempts show it, and in which direction.
struct LessonClaim {
  std::string claim, technique, predicted;
  bool faster = true;  // "effect": "faster" or "slower"
  std::vector<std::string> dtypes, shapes;
  std::vector<std::pair<std::int64_t, std::int64_t>> evidence;  // with, without
};
// {"lessons": [...]}. Errors name the JSON path.
OrErrors<std::vector<LessonClaim>> lesson_claims_from_json(std::string_view json);

}  // namespace kf
