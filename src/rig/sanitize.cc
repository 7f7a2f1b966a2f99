// SPDX-License-Identifier: Apache-2.0
#include "rig/sanitize.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "format/job_json.h"
#include "format/outcome_json.h"
#include "os/atomic_file.h"
#include "os/child_process.h"
#include "os/steady_clock.h"
#include "rig/message.h"

namespace kf {
namespace {

constexpr std::array<std::string_view, 4> kTools{"memcheck", "racecheck", "initcheck", "synccheck"};
constexpr std::string_view kMargin = "=========";  // begins every line that a tool writes
constexpr std::size_t kMostLines = 24, kMostColumns = 160;
constexpr std::uint64_t kMostLog = 4u << 20;

// The number in front of a word: "ERROR SUMMARY: 3 errors" -> 3 for " error".
std::optional<std::int64_t> number_before(std::string_view line, std::string_view word) {
  const std::size_t end = line.find(word);
  if (end == std::string_view::npos) {
    return std::nullopt;
  }
  std::size_t begin = end;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') {
    --begin;
  }
  std::int64_t value = 0;
  const auto read = std::from_chars(line.data() + begin, line.data() + end, value);
  return begin < end && read.ec == std::errc() ? std::optional(value) : std::nullopt;
}

// Folders are taken out of what looks like a path; what is not printable becomes '?'.
std::string cleaned(std::string_view line) {
  std::string text;
  std::string word;
  const auto flush = [&] {
    const std::size_t slash = word.rfind('/');
    text += slash == std::string::npos ? word : word.substr(slash + 1);
    word.clear();
  };
  for (const char c : line.substr(0, 4 * kMostColumns)) {
    const bool printable = c >= ' ' && c < 127;
    if (c == ' ' || c == '(' || c == ')' || c == ',' || c == '"' || c == '\'' || c == '=') {
      flush();
      text += c;
    } else {
      word += printable ? c : '?';
    }
  }
  flush();
  return text.size() > kMostColumns ? text.substr(0, kMostColumns) + "..." : text;
}

std::string version_of(const std::string& sanitizer) {
  ChildOptions child;
  child.argv = {sanitizer, "--version"};
  child.inherit_environment = true;
  child.out = Stream::kPipe;
  child.err = Stream::kNull;
  auto process = ChildProcess::start(child);
  if (!process) {
    return "";
  }
  const auto exit = process->wait(std::chrono::seconds(20));
  const auto text = exit ? read_some(process->out().get(), 4096) : std::unexpected(Error{});
  if (!text) {
    return "";
  }
  const std::size_t at = text->find("Version ");
  const std::string_view from = std::string_view(*text).substr(at == std::string::npos ? 0 : at + 8);
  return cleaned(from.substr(0, from.find_first_of(" \n\r(")));
}

// What the checks said while the tool watched; evidence too.
std::string answer_text(const std::string& path) {
  const auto bytes = read_file(path, kMaxFrameJson);
  if (!bytes) {
    return "the job under the tool gave no answer";
  }
  FrameReader reader;
  reader.feed(std::as_bytes(std::span(*bytes)));
  auto frame = reader.next();
  if (!frame || !*frame) {
    return "the job under the tool gave no answer";
  }
  const auto message = read_message(**std::move(frame));
  const auto outcome = message ? decode_outcome(message->body, message->blob) : std::unexpected(Error{});
  if (!outcome) {
    return "the job under the tool gave an answer that cannot be read";
  }
  if (const auto* report = std::get_if<CheckReport>(&*outcome)) {
    return report->verdict.passed ? std::to_string(report->verdict.checks) + " launches compared, all right"
                                  : "refused under the tool: " + report->verdict.reason;
  }
  const auto* fault = std::get_if<Fault>(&*outcome);
  return fault != nullptr ? "no check under the tool: " + cleaned(fault->reason + ": " + fault->what)
                          : "the job under the tool gave another answer";
}

ToolRun run_tool(std::string_view tool, const std::string& sanitizer, const std::string& job_file,
                 const ScratchFolder& scratch, const Job& job, const SanitizerOptions& options) {
  const std::string log = scratch.path() + "/" + std::string(tool) + ".log";
  const std::string answer = scratch.path() + "/" + std::string(tool) + ".answer";
  ChildOptions child;
  child.argv = {sanitizer, "--tool", std::string(tool), "--print-limit", "20", "--log-file", log};
  if (tool == "memcheck") {  // calls of the driver that we make on purpose and whose failure we handle
    child.argv.insert(child.argv.end(), {"--report-api-errors", "no"});
  }
  child.argv.insert(child.argv.end(), options.one_job.begin(), options.one_job.end());
  child.argv.insert(child.argv.end(), {"--job", job_file, "--answer", answer});
  child.inherit_environment = true;  // a worker's own, without secrets
  child.out = child.err = Stream::kNull;
  child.die_with_parent = true;
  const SteadyClock clock;
  const auto start = clock.now();
  std::string ended;
  if (auto process = ChildProcess::start(child)) {
    const auto exit = process->wait(job.tool_limit);
    if (!exit) {
      process->kill();
      ended = "it did not end within " + std::to_string(job.tool_limit.count()) + " ms";
    } else if (!exit->ok()) {
      ended = to_string(*exit);
    }
  } else {
    ended = to_string(process.error());
  }
  const auto text = read_file(log, kMostLog);
  ToolRun run = read_tool_log(std::string(tool), text ? *text : "");
  run.milliseconds = std::chrono::duration<double, std::milli>(clock.now() - start).count();
  run.text =
      answer_text(answer) + (ended.empty() ? "" : "; " + cleaned(ended)) + (run.text.empty() ? "" : "\n" + run.text);
  return run;
}

}  // namespace

ToolRun read_tool_log(std::string tool, std::string_view log) {
  ToolRun run;
  run.tool = std::move(tool);
  std::size_t lines = 0;
  while (!log.empty()) {
    const std::size_t end = std::min(log.find('\n'), log.size());
    std::string_view line = log.substr(0, end);
    log.remove_prefix(std::min(end + 1, log.size()));
    if (!line.starts_with(kMargin)) {
      continue;  // a tool's own lines have the margin
    }
    line.remove_prefix(kMargin.size());
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    if (line.find("SUMMARY:") != std::string_view::npos) {
      run.ran = true;
      run.errors = number_before(line, " error").value_or(run.errors);
      run.warnings = number_before(line, " warning").value_or(run.warnings);
    }
    const bool host = line.starts_with("Host Frame") || line.starts_with("Saved host backtrace");
    if (line.empty() || host || line.starts_with("COMPUTE-SANITIZER") || lines >= kMostLines) {
      continue;
    }
    run.text += (run.text.empty() ? "" : "\n") + cleaned(line);
    ++lines;
  }
  return run;
}

SanitizerReport run_sanitizer(const Job& job, const SanitizerOptions& options, const ScratchFolder& scratch) {
  SanitizerReport report;
  const auto found = find_compute_sanitizer(options.toolkit);
  if (!found) {
    report.not_run = to_string(found.error());
    return report;
  }
  const std::string job_file = scratch.path() + "/job";
  const OrError<Bytes> frame = encode_frame(to_frame(job_message(1, job)));
  OrError<void> written = frame ? scratch.make() : std::unexpected(frame.error());
  if (written) {
    written = write_file_atomically(job_file, *frame, Durable::kLater);
  }
  if (!written) {
    report.not_run = to_string(written.error());
    return report;
  }
  const std::string version = version_of(found->path);
  for (const std::string_view tool : kTools) {
    report.tools.push_back(run_tool(tool, found->path, job_file, scratch, job, options));
    report.tools.back().version = version;
  }
  return report;
}

}  // namespace kf
