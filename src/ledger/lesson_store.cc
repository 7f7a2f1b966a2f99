// SPDX-License-Identifier: Apache-2.0
#include "ledger/lesson_store.h"

#include "format/lesson_json.h"
#include "ledger/file_lock.h"
#include "os/atomic_file.h"

namespace kf {

OrErrors<std::vector<Lesson>> read_lessons_file(const std::filesystem::path& file) {
  const OrError<std::string> text = read_file(file.string());
  if (!text) {
    return std::unexpected(Errors{text.error()});
  }
  return lessons_from_jsonl(*text, file.string());
}

OrErrors<std::vector<Lesson>> read_lesson_store(const std::filesystem::path& file) {
  std::error_code error;
  if (!std::filesystem::exists(file, error) && !error) {
    return std::vector<Lesson>{};
  }
  return read_lessons_file(file);
}

OrErrors<std::vector<Lesson>> merge_into_lesson_store(const std::filesystem::path& file, std::span<const Lesson> more,
                                                      MergeLessons merge) {
  std::error_code error;
  if (file.has_parent_path()) {
    std::filesystem::create_directories(file.parent_path(), error);
  }
  if (error) {
    return std::unexpected(Errors{{file.parent_path().string(), "cannot be made: " + error.message(), ""}});
  }
  const FileLock lock = FileLock::wait(file.string() + ".lock");
  OrErrors<std::vector<Lesson>> store = read_lesson_store(file);
  if (!store) {
    return store;
  }
  std::vector<Lesson> merged = merge(std::move(*store), more);
  if (const OrError<void> written = write_file_atomically(file.string(), lessons_jsonl(merged)); !written) {
    return std::unexpected(Errors{written.error()});
  }
  return merged;
}

}  // namespace kf
