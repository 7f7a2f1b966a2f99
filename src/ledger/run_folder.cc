// SPDX-License-Identifier: Apache-2.0
#include "ledger/run_folder.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>

#include <kfactory/error.h>
#include "format/attempt_json.h"
#include "format/lesson_json.h"
#include "format/outcome_json.h"
#include "os/atomic_file.h"

namespace kf {
namespace {

namespace fs = std::filesystem;

std::string text_of(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// All blobs of an attempt's records with their names, in order.
std::vector<std::pair<std::string, std::string>> blobs_of(const Ledger& ledger, AttemptId id) {
  std::vector<std::pair<std::string, std::string>> blobs;
  for (const Record& record : ledger.read(id, id)) {
    std::vector<std::string> names = blob_names(record);
    if (record.stage == Stage::kOpened && names.empty()) {
      names = {"system", "prefix", "prompt"};  // what open_attempt itself stores
    }
    for (std::size_t i = 0; i < std::min(names.size(), record.blobs.size()); ++i) {
      if (names[i] == "cubin" || names[i] == "measurement") {
        continue;  // large, and only in the ledger
      }
      if (const std::optional<Bytes> bytes = ledger.get(record.blobs[i])) {
        blobs.emplace_back(names[i], text_of(*bytes));
      }
    }
  }
  return blobs;
}

void append_part(std::string& document, std::string_view heading, std::string_view text) {
  document += std::string(document.empty() ? "" : "\n\n") + "# " + std::string(heading) + "\n\n" + std::string(text);
  document += document.ends_with('\n') ? "" : "\n";
}

// request.md, reply.md, kernel.ptx, build.log from the records; the rest from the attempt's projection.
Map<std::string> files_of(const Attempt& attempt, const Ledger& ledger) {
  Map<std::string> files;
  for (const auto& [name, text] : blobs_of(ledger, attempt.id)) {
    if (name == "system" || name == "prefix" || name == "prompt") {
      append_part(files["request.md"], name, text);
    } else if (name == "reply") {
      append_part(files["reply.md"], name, text);
    } else if (name == "ptx") {
      files.try_emplace("kernel.ptx", text);  // the first: of the first timed case
    } else if (name == "log") {
      // The first, of the first timed case; for a failed compilation the last, which says why.
      if (!attempt.verdict.passed && attempt.verdict.gate == Gate::kCompile) {
        files["build.log"] = text;
      } else {
        files.try_emplace("build.log", text);
      }
    }
  }
  if (!attempt.source.empty()) {
    files["candidate.cu"] = attempt.source;
  }
  files["attempt.json"] = attempt_json(attempt) + "\n";
  if (attempt.state == AttemptState::kRejected || attempt.state == AttemptState::kMeasured) {
    files["verdict.json"] = verdict_json(attempt.verdict) + "\n";
  }
  if (attempt.score) {
    files["score.json"] = score_json(*attempt.score) + "\n";
  }
  return files;
}

std::string decimal(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}
std::string microseconds(const Interval& interval) {
  return interval.samples == 0 ? "-" : decimal(interval.median / 1000, 2);
}

// What the speed-up is of, and what was done to claim it.
std::string claims(const RunInfo& info, const Spec& spec, const Attempt& winner) {
  const Score& score = *winner.score;
  const bool estimate = score.method == ClockMethod::kEstimate;
  const std::int64_t cases = cases_in_speedup(score);
  const auto scaled = std::ranges::count_if(score.cases, [](const CaseScore& of) { return !of.scaled_from.empty(); });
  const auto executed = std::ssize(score.cases) - scaled;
  // Of the others there is no figure: not timed in a screening, or not to be estimated from what ran.
  const auto timed = spec.cases.find("time");
  const std::int64_t all = timed == spec.cases.end() ? 0 : std::ssize(timed->second);
  const std::string of_all = all > cases ? " of the spec's " + std::to_string(all) : "";
  std::string text = "Speed-up over the fastest correct baseline, geometric mean over " + std::to_string(cases) +
                     of_all + (cases == 1 ? " timed case: **" : " timed cases: **") + decimal(score.speedup, 3) +
                     "x**" + (estimate ? " (an emulator's **estimate**, not a time)" : "") + ".\n";
  if (estimate && scaled > 0) {
    text += "No case of these sizes was executed: what " + std::to_string(executed) +
            " smaller cases of the set `emulate` did was counted and scaled to them.\n";
  }
  text += score.confirmed ? "Confirmed: evaluated once more in a fresh process, with fresh seeds.\n"
                          : "Not confirmed: what follows is one screening, on few of the timed cases.\n";
  text += "Compared with the float64 reference in " + std::to_string(winner.verdict.checks) + " launches, all right: " +
          (winner.checked.empty() ? "of which cases was not recorded by the version that ran them"
                                  : to_string(winner.checked)) +
          ".\n";
  return text + "Device: " + info.device.name + " (" + info.device.arch + ")" +
         (info.device.kind == "emulator" ? ", emulated"
          : info.device.driver.empty()   ? ""
                                         : ", driver " + info.device.driver) +
         ".\n\n";
}

std::string table_of(const Score& score) {
  const std::string unit = score.method == ClockMethod::kEstimate ? ", estimated us" : ", us";
  std::string text = "\n| case | candidate" + unit + " | baseline" + unit + " | copy" + unit +
                     " | candidate / baseline | in the speed-up |\n|---|---|---|---|---|---|\n";
  for (const CaseScore& of : score.cases) {
    text += "| " + of.case_id + " | " + microseconds(of.candidate) + " | " + microseconds(of.baseline) + " | " +
            microseconds(of.copy) + " | " + (of.to_baseline.samples == 0 ? "-" : decimal(of.to_baseline.median, 3)) +
            " | " +
            (!counts_in(score, of)         ? "no: executed, and scaled to the others"
             : of.to_baseline.samples == 0 ? "no: no baseline was right"
             : of.scaled_from.empty()      ? "yes"
                                           : "yes, scaled from " + of.scaled_from) +
            " |\n";
  }
  return text;
}

std::string winner_readme(const RunInfo& info, const Spec& spec, const Attempt& winner) {
  std::string text = "# " + info.spec_name + ", attempt " + std::to_string(winner.id.value) + "\n\n";
  text += claims(info, spec, winner);
  text += "Hypothesis: " + (winner.hypothesis.empty() ? "(none given)" : winner.hypothesis) + "\n";
  if (!winner.tune.empty()) {
    text += winner.settled.empty() ? "\nTune values that count:" : "\nTune values that its screening chose:";
    for (const auto& [name, value] : winner.tune) {
      text += " " + name + "=" + std::to_string(value);
    }
    text += "\n";
  }
  for (const KernelUse& use : winner.kernels) {
    text += "\nKernel `" + use.entry + "`: " + std::to_string(use.registers) + " registers, " +
            std::to_string(use.static_shared_bytes) + " bytes of static shared memory, " +
            std::to_string(use.spill_store_bytes + use.spill_load_bytes) + " bytes spilled.\n";
  }
  text += table_of(*winner.score);
  text +=
      "\n`evidence.json` has the intervals and the method. Measure again: `kfactory bench` with this run's folder. "
      "Judge the\n"
      "kernel alone, from this run's folder: `kfactory eval spec/" +
      info.spec_name + ".json winners/" + attempt_folder_name(winner) + "/kernel.cu`.\n";
  return text;
}

// What a spec needs to be read again, by its own relative paths.
Map<std::string> spec_files(const Spec& spec) {
  Map<std::string> files{{spec.name + ".json", spec.json}};
  if (!spec.reference.cuda.path.empty()) {
    files[spec.reference.cuda.path] = spec.reference.cuda.content;
  }
  for (const BaselineSpec& baseline : spec.baselines) {
    if (!baseline.source.path.empty()) {
      files[baseline.source.path] = baseline.source.content;
    }
  }
  return files;
}

// Removes what is in `folder` but not in `names`: left by an earlier state of the run.
void remove_others(const fs::path& folder, const std::set<std::string>& names) {
  std::error_code none;
  std::vector<fs::path> others;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, none)) {
    if (!names.contains(entry.path().filename().string())) {
      others.push_back(entry.path());
    }
  }
  for (const fs::path& other : others) {
    std::error_code error;
    fs::remove_all(other, error);
    if (error) {
      throw Fatal(other.string() + " cannot be removed: " + error.message());
    }
  }
}

// Once for all files: ten thousand attempts have seventy thousand, and an fsync takes milliseconds.
void make_durable(const fs::path& root) {
  if (const OrError<void> synced = sync_file_system(root.string()); !synced) {
    throw Fatal(to_string(synced.error()) + ". The ledger has everything: make room, then go on with --resume");
  }
}

// Temporary files of atomic writes ("run.json.Ab3xYz") that a kill left in the root.
void remove_torn(const fs::path& root) {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(root, ignored)) {
    const std::string name = entry.path().filename().string();
    for (const std::string_view whole : {"run.json.", "lessons.jsonl.", "lessons.md."}) {
      if (name.starts_with(whole)) {
        fs::remove(entry.path(), ignored);
      }
    }
  }
}

}  // namespace

std::vector<const Attempt*> winners_of(std::span<const Attempt> attempts, std::size_t limit) {
  std::vector<const Attempt*> winners;
  for (const Attempt& attempt : attempts) {
    if (attempt.state == AttemptState::kMeasured && attempt.verdict.passed && attempt.score &&
        attempt.score->against_baseline == Comparison::kWin) {
      winners.push_back(&attempt);
    }
  }
  // What was confirmed was measured on every timed case; a screening saw few, and its figures are chosen for being
  // good.
  std::ranges::sort(winners, {},
                    [](const Attempt* a) { return std::tuple(!a->score->confirmed, -a->score->speedup, a->id); });
  std::set<std::string> seen;
  std::erase_if(winners, [&](const Attempt* attempt) {
    return !attempt->source_hash.empty() && !seen.insert(attempt->source_hash).second;
  });
  winners.resize(std::min(winners.size(), limit));
  return winners;
}

std::string attempt_folder_name(const Attempt& attempt) {
  char id[32];
  std::snprintf(id, sizeof id, "%04lld-", static_cast<long long>(attempt.id.value));
  return id + (attempt.source.empty() ? "none" : to_hex(sha256(attempt.source)).substr(0, 8));
}

RunFolder::RunFolder(fs::path root, Write write) : root_(std::move(root)), write_(std::move(write)) {
  if (!write_) {
    write_ = [](const std::string& path, std::string_view text) {
      return write_file_atomically(path, text, Durable::kLater);
    };
  }
}

void RunFolder::place(const fs::path& file, std::string_view content) const {
  std::error_code error;
  fs::create_directories(file.parent_path(), error);
  if (error) {
    throw Fatal(file.parent_path().string() + " cannot be made: " + error.message());
  }
  if (const OrError<std::string> there = read_file(file.string()); there && *there == content) {
    return;
  }
  if (const OrError<void> written = write_(file.string(), content); !written) {
    throw Fatal(to_string(written.error()) + ". The ledger has everything: make room, then go on with --resume");
  }
}

void RunFolder::place_folder(const fs::path& folder, const Files& files) const {
  std::set<std::string> names;
  for (const auto& [name, content] : files) {
    place(folder / name, content);
    names.insert(*fs::path(name).begin());
  }
  remove_others(folder, names);
}

void RunFolder::project(const RunView& view) const {
  remove_torn(root_);
  place(root_ / "run.json", run_json(*view.info));
  place_folder(root_ / "spec", spec_files(*view.spec));
  std::set<std::string> names;
  for (const Attempt& attempt : view.attempts) {
    const std::string name = attempt_folder_name(attempt);
    place_folder(root_ / "attempts" / name, files_of(attempt, *view.ledger));
    names.insert(name);
  }
  remove_others(root_ / "attempts", names);
  project_winners(view);
  place(root_ / "lessons.jsonl", lessons_jsonl({view.lessons.begin(), view.lessons.end()}));
  place(root_ / "lessons.md", view.lessons_markdown);
  make_durable(root_);
}

void RunFolder::project_attempt(const RunView& view, const Attempt& attempt) const {
  place_folder(root_ / "attempts" / attempt_folder_name(attempt), files_of(attempt, *view.ledger));
  if (!attempt.source.empty()) {  // it had none while it was open
    Attempt before = attempt;
    before.source.clear();
    std::error_code ignored;
    fs::remove_all(root_ / "attempts" / attempt_folder_name(before), ignored);
  }
  project_winners(view);
  make_durable(root_);
}

void RunFolder::project_winners(const RunView& view) const {
  std::set<std::string> names;
  for (const Attempt* winner : winners_of(view.attempts)) {
    const std::string name = attempt_folder_name(*winner);
    place_folder(root_ / "winners" / name, {{"kernel.cu", winning_source(*winner)},
                                            {"evidence.json", evidence_json(*view.info, *winner, view.attempts)},
                                            {"README.md", winner_readme(*view.info, *view.spec, *winner)}});
    names.insert(name);
  }
  remove_others(root_ / "winners", names);
}

}  // namespace kf
