// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <span>
#include <vector>

#include <kfactory/error.h>
#include <kfactory/lesson.h>

namespace kf {

// lessons.jsonl files: of a run, of --lessons, of the user's data folder (docs/formats/lessons.md).

// Every error of the file at once, each with file:line. A file that is not there is an error: for `kfactory lessons`.
OrErrors<std::vector<Lesson>> read_lessons_file(const std::filesystem::path& file);
// The same, but no file means no lessons: for a store that grows.
OrErrors<std::vector<Lesson>> read_lesson_store(const std::filesystem::path& file);

// Unites the store with `more` through `merge` (kf::merge_lessons), under a lock, and replaces the file atomically: two
// runs that end together both get in. Makes the folder and the file where there are none. A store that cannot be read
// is left as it is.
using MergeLessons = std::vector<Lesson> (*)(std::vector<Lesson> store, std::span<const Lesson> more);
OrErrors<std::vector<Lesson>> merge_into_lesson_store(const std::filesystem::path& file, std::span<const Lesson> more,
                                                      MergeLessons merge);

}  // namespace kf
