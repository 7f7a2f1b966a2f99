// SPDX-License-Identifier: Apache-2.0
// kfactory lessons list FILE... | merge --out FILE FILE...
#include <fmt/format.h>

#include <kfactory/agent.h>

#include "commands.h"
#include "format/lesson_json.h"
#include "ledger/lesson_store.h"
#include "parts.h"

namespace kf {

int lessons_command(Session& session) {
  const Options& options = session.options;
  std::vector<Lesson> lessons;
  for (const std::string& file : options.names) {
    lessons = merge_lessons(std::move(lessons), or_usage(read_lessons_file(file)));
  }
  if (options.action == "merge") {
    if (options.out.empty()) {
      throw UsageError{{{"--out", "lessons merge needs the file to write", ""}}};
    }
    const auto merged = or_usage(merge_into_lesson_store(options.out, lessons, merge_lessons));
    session.console.line(std::to_string(merged.size()) + " lessons in " + options.out);
    return exits::kDone;
  }
  if (options.json) {
    for (const Lesson& lesson : lessons) {
      session.console.line(lesson_json(lesson));
    }
    return exits::kDone;
  }
  if (lessons.empty()) {
    session.console.line("no lessons");
    return exits::kDone;
  }
  Table table({"id", "evidence", "confidence", "for", "against", "scope", "claim"});
  for (const Lesson& lesson : lessons) {
    table.add({lesson.id, std::string(lesson.evidence()),
               lesson.conjecture() ? "-" : fmt::format("{:.2f}", lesson.confidence()),
               std::to_string(lesson.supporting.size()), std::to_string(lesson.contradicting.size()),
               lesson.arch + " " + lesson.op_type, cut_line(lesson.claim, 90)});
  }
  session.console.table(table);
  return exits::kDone;
}

}  // namespace kf
