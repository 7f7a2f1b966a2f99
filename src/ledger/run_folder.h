// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include <kfactory/attempt.h>
#include <kfactory/ledger.h>
#include <kfactory/lesson.h>
#include <kfactory/spec.h>
#include "ledger/run_info.h"

namespace kf {

// What a run folder is a projection of.
struct RunView {
  const RunInfo* info = nullptr;
  const Spec* spec = nullptr;
  const Ledger* ledger = nullptr;
  std::span<const Attempt> attempts;  // as attempts_of(*ledger) gives them
  std::span<const Lesson> lessons;
  std::string lessons_markdown;  // lessons_markdown(lessons)
};

// Attempts that are winners: right, measured, and faster than the baseline; best first, equal code once, at most
// `limit`.
std::vector<const Attempt*> winners_of(std::span<const Attempt> attempts, std::size_t limit = 3);

// "0007-3fa2b1c0": the id and the beginning of the source's SHA-256; "0007-none" without a source.
std::string attempt_folder_name(const Attempt& attempt);

// The files of a run folder besides the ledger (docs/formats/run-folder.md). Every one is a function of RunView, so
// writing again changes nothing, and whatever a crash left behind is put right by the next project(). Files whose bytes
// are right already are not touched; files in attempts/ and winners/ that belong to nothing are removed. No file holds
// an absolute path. Throws Fatal when a file cannot be written.
class RunFolder {
 public:
  using Write = std::function<OrError<void>(const std::string& path, std::string_view text)>;
  // `write` must replace a file as a whole or not at all; tests pass one that fails.
  explicit RunFolder(std::filesystem::path root, Write write = {});

  const std::filesystem::path& root() const { return root_; }
  std::filesystem::path ledger_file() const { return root_ / "ledger.sqlite"; }

  // Everything: at the start, on resume, at the end.
  void project(const RunView& view) const;
  // What changes when an attempt closed: its folder, and the winners.
  void project_attempt(const RunView& view, const Attempt& attempt) const;

 private:
  using Files = Map<std::string>;  // name within a folder -> content
  void place(const std::filesystem::path& file, std::string_view content) const;
  void place_folder(const std::filesystem::path& folder, const Files& files) const;
  void project_winners(const RunView& view) const;
  std::filesystem::path root_;
  Write write_;
};

}  // namespace kf
