// SPDX-License-Identifier: Apache-2.0
// kfactory run SPEC: the factory. This file wires it; factory/factory.cc is the loop.
#include <algorithm>
#include <filesystem>

#include "commands.h"
#include "continuation.h"
#include "factory/records.h"
#include "factory/spec_check.h"
#include "ledger/lesson_store.h"
#include "ledger/run_folder.h"
#include "ledger/sqlite_ledger.h"
#include "models.h"
#include "os/entropy.h"
#include "os/steady_clock.h"
#include "parts.h"
#include "reports.h"
#include "resumed.h"
#include "run_progress.h"
#include "tables.h"

namespace kf {
namespace {

namespace fs = std::filesystem;

// "20261130-123835" of "2026-11-30T12:38:35Z".
std::string folder_time(const std::string& utc) {
  std::string text;
  for (const char c : utc.substr(0, 19)) {
    if (c == 'T') {
      text += '-';
    } else if (c >= '0' && c <= '9') {
      text += c;
    }
  }
  return text;
}

UsageError already_holds_a_run(const fs::path& folder) {
  return {{{folder.string(), "already holds a run", "go on with it with --resume, or choose another --out"}}};
}

// Where the run lives; refuses what is not there to resume, and what is there already.
fs::path choose_folder(const Options& options, const Spec& spec, const Clock& clock) {
  if (options.resume && options.out.empty()) {
    throw UsageError{{{"--resume", "which run?", "name its folder with --out"}}};
  }
  const fs::path folder =
      options.out.empty() ? fs::path("out") / (spec.name + "-" + folder_time(clock.utc())) : fs::path(options.out);
  std::error_code error;
  const bool there = fs::exists(folder / "ledger.sqlite", error);
  if (error && error != std::errc::not_a_directory) {
    throw UsageError{{{"--out " + folder.string(), error.message(), "choose another folder"}}};
  }
  if (options.resume && !there) {
    throw UsageError{{{folder.string(), "holds no run to resume: there is no ledger.sqlite in it",
                       "leave out --resume to begin one"}}};
  }
  if (!options.resume && there) {
    throw already_holds_a_run(folder);
  }
  return folder;
}

// Made before anything that takes long, so that a place that cannot be used is said at once; a run that cannot begin
// for another reason leaves none behind.
class FreshFolder {
 public:
  explicit FreshFolder(const fs::path& folder) {
    std::error_code error;
    for (fs::path at = folder; !at.empty() && !fs::exists(at, error) && !error; at = at.parent_path()) {
      made_.push_back(at);
    }
    fs::create_directories(folder, error);
    if (error) {
      throw Fatal("the run folder " + folder.string() + " cannot be made: " + error.message() +
                  "; choose another place with --out");
    }
  }
  FreshFolder(const FreshFolder&) = delete;
  FreshFolder& operator=(const FreshFolder&) = delete;
  ~FreshFolder() {
    std::error_code ignored;
    for (const fs::path& folder : made_) {
      fs::remove(folder, ignored);  // only an empty one
    }
  }

 private:
  std::vector<fs::path> made_;  // the innermost first
};

// A run belongs to one spec, its reference and its baselines: with another one its verdicts would mean nothing.
void refuse_changed_spec(const Ledger& ledger, const Spec& spec) {
  const std::optional<RunStart> start = read_start(ledger);
  if (!start) {
    return;
  }
  const auto same = [&](const SourceFile& file) {
    const auto found = start->spec_files.find(file.path);
    return found != start->spec_files.end() && found->second == file.content;
  };
  const bool unchanged =
      start->spec_json == spec.json && same(spec.reference.cuda) &&
      std::ranges::all_of(spec.baselines, [&](const BaselineSpec& baseline) { return same(baseline.source); });
  if (!unchanged) {
    throw UsageError{{{spec.name, "the spec, its reference or a baseline changed since this run began",
                       "begin a new run, or put the old files back"}}};
  }
}

RunSettings run_settings(const Session& session) {
  const Settings& given = session.settings;
  RunSettings settings;
  settings.budget.attempts = given.count("run.attempts");
  if (!session.options.replay.empty() && given.origin("run.attempts") == "built in") {
    settings.budget.attempts = std::max<std::int64_t>(1, recorded_proposals(session.options.replay));
  }
  settings.budget.wall = given.time("run.wall");
  settings.budget.tokens = given.count("run.tokens");
  settings.budget.cost_nanodollars = given.nanodollars("run.cost");
  settings.search.in_flight = static_cast<std::int32_t>(std::clamp<std::int64_t>(given.count("run.in_flight"), 1, 64));
  settings.search.max_output_tokens = given.count("model.max_output_tokens");
  settings.compile_jobs = static_cast<std::int32_t>(std::clamp<std::int64_t>(given.count("run.compile_jobs"), 0, 256));
  settings.screen_cases = static_cast<std::int32_t>(std::max<std::int64_t>(1, given.count("run.screen_cases")));
  settings.max_variants = static_cast<std::int32_t>(std::max<std::int64_t>(1, given.count("run.max_variants")));
  settings.confirmed_attempts =
      static_cast<std::int32_t>(std::clamp<std::int64_t>(given.count("run.confirmed_attempts"), 1, 64));
  settings.margin = given.share("run.margin");
  settings.secret = draw_run_secret();
  return settings;
}

RunInfo run_info(const Factory& factory, const RunSettings& settings) {
  const std::optional<RunStart> start = read_start(*factory.ledger);
  RunInfo info;
  info.spec_name = factory.spec->name;
  info.spec_sha256 = sha256(factory.spec->json);
  info.started = start ? start->utc : "";
  info.version = std::string(program_version());
  info.compiler = factory.compiler->version();
  info.models["default"] = factory.writer->description();
  for (const auto& [role, model] : factory.models) {
    info.models[role] = model->description();
  }
  info.settings = settings;
  info.device = factory.facts;
  info.seeds = start ? seeds_digest(start->secret) : Digest{};
  return info;
}

void project(const RunFolder& folder, const Factory& factory, const RunSettings& settings, const RunResult& result) {
  const RunInfo info = run_info(factory, settings);
  const std::vector<Attempt> attempts = attempts_of(*factory.ledger);
  folder.project({&info, factory.spec, factory.ledger, attempts, result.lessons, lessons_markdown(result.lessons)});
}

int exit_code(const RunResult& result, const Factory& factory) {
  switch (result.reason) {
    case StopReason::kInterrupted:
      return exits::kInterrupted;
    case StopReason::kWaiting:
      return exits::kWaiting;
    case StopReason::kModelFailed:
    case StopReason::kRigFailed:
      return exits::kCannotGoOn;
    default:
      return factory.rig != nullptr && result.beat_baseline ? exits::kDone : exits::kNothingWon;
  }
}

const Attempt* champion_of(const RunResult& result) {
  const auto found = std::ranges::find_if(result.attempts, [&](const Attempt& of) { return of.id == result.champion; });
  return found == result.attempts.end() ? nullptr : &*found;
}

void print_best(Console& console, const RunResult& result, const Machine& machine) {
  if (machine.rig == nullptr) {
    console.line("NOT executed: no candidate was run or timed (" + machine.note + "); they were compiled for " +
                     machine.facts.arch + " and audited, nothing more",
                 Ink::kStrong);
  } else if (const Attempt* best = champion_of(result)) {
    const bool estimate = machine.facts.kind == "emulator";
    console.line("best: attempt " + std::to_string(best->id.value) +
                     (result.beat_baseline ? ", faster than the baseline" : ", not faster than the baseline") +
                     (estimate ? " by the emulator's ESTIMATE (not a time)" : "") +
                     (best->score && best->score->confirmed ? ", confirmed" : ", not confirmed"),
                 Ink::kStrong);
    print_checked(console, best->checked);
  } else if (std::ranges::all_of(result.attempts, [](const Attempt& of) { return of.state == AttemptState::kOpen; })) {
    console.line("no candidate was judged yet", Ink::kStrong);
  } else {
    console.line("no candidate was right", Ink::kStrong);
  }
}

// "writer-1.reply.md and writer-2.reply.md in /tmp/mail, as the requests beside them say".
std::string awaited(const std::string& folder) {
  constexpr std::size_t kNamed = 8;
  const std::vector<std::string> missing = missing_replies(folder);
  std::string names;
  for (std::size_t i = 0; i < std::min(missing.size(), kNamed); ++i) {
    names += (i == 0 ? "" : i + 1 == missing.size() ? " and " : ", ") + missing[i];
  }
  if (missing.size() > kNamed) {
    names += " and " + std::to_string(missing.size() - kNamed) + " more";
  }
  return names.empty() ? "the replies that the requests in " + folder + " ask for"
                       : names + " in " + folder + ", as the requests beside them say";
}

// How to go on. Every stop can be resumed; after a spent budget there is only more of it.
struct GoOn {
  std::string before, command;  // no command: there is nothing to go on with
};
GoOn how_to_go_on(const Session& session, const RunResult& result, const Budget& budget, const fs::path& folder) {
  const Options& options = session.options;
  const Map<std::string> larger = larger_budget(options, budget, result);
  switch (result.reason) {
    case StopReason::kWaiting:
      return {"write " + awaited(options.exchange) + "; then go on with:", continuation(options, folder.string())};
    case StopReason::kInterrupted:
      return {"go on with:", continuation(options, folder.string())};
    case StopReason::kModelFailed:
    case StopReason::kRigFailed:
      return {"when that is mended, go on with:", continuation(options, folder.string())};
    default:
      return larger.empty() ? GoOn{}
                            : GoOn{"for more, with a larger budget:", continuation(options, folder.string(), larger)};
  }
}

void print_end(Session& session, const RunResult& result, const Machine& machine, const Budget& budget,
               const fs::path& folder, int code) {
  Console& console = session.console;
  const GoOn go_on = how_to_go_on(session, result, budget, folder);
  if (session.options.json) {
    console.line(run_report(result, folder.string(), {machine.facts, machine.note}, code, go_on.command));
    return;
  }
  console.clear();
  console.line("");
  if (!result.attempts.empty()) {
    print_leader_board(console, result.attempts);
    console.line("");
  }
  const std::string reason(to_string(result.reason));
  const bool said = result.detail.starts_with(reason);  // "waiting for replies"
  console.line("stopped: " + (said ? result.detail : reason) +
               (said || result.detail.empty() ? "" : " (" + result.detail + ")"));
  print_best(console, result, machine);
  const std::size_t lessons = result.lessons.size();
  console.line((lessons == 0   ? "no lessons"
                : lessons == 1 ? "1 lesson"
                               : std::to_string(lessons) + " lessons") +
               "; everything is in " + folder.string());
  if (go_on.command.empty()) {
    return;
  }
  console.line(go_on.before);
  console.line("  " + go_on.command);
  if (const std::string variables = needed_variables(session.settings); !variables.empty()) {
    console.line("  (in a shell that has set what this one has: " + variables + ")");
  }
}

std::string untried_rows(const AdmissionReport& report) {
  std::string names;
  for (const AdmissionRow& row : report.rows) {
    if (!row.tried) {
      names += (names.empty() ? "" : ", ") + row.name;
    }
  }
  return names;
}

// Before a run: a spec that cannot tell right from wrong makes every later figure worthless, and so does one of which
// nobody knows. What came out, for the ledger; throws where the run must not begin.
std::string admit_or_refuse(const Factory& factory, const Session& session) {
  const auto jobs = static_cast<std::int32_t>(session.settings.count("run.compile_jobs"));
  const Admission admission = admit(factory, jobs, session.stop);
  if (admission.not_run == NotRun::kSpec) {
    throw UsageError{{{"admission could not run", admission.why_not, ""}}};
  }
  if (admission.not_run == NotRun::kRig) {
    throw Fatal("admission could not run: " + admission.why_not +
                "; nothing was asked of a model. Try again; if it stays, `kfactory check` and `kfactory doctor` tell "
                "whether it is the device or the spec (a timeout: fewer or smaller check cases)");
  }
  if (!admission.report) {  // no device, so nothing is executed either; or interrupted
    return "not run: " + admission.why_not;
  }
  Errors errors;
  for (const AdmissionRow& row : admission.report->rows) {
    if (!row.ok) {
      errors.push_back({"admission: " + row.name, "expected " + row.expected + ", found " + row.found, ""});
    }
  }
  if (!admission.report->admitted) {
    throw UsageError{std::move(errors)};
  }
  const std::string untried = untried_rows(*admission.report);
  return "admitted" + (untried.empty() ? "" : "; not tried: " + untried);
}

std::vector<Lesson> earlier_lessons(const Options& options, const Spec& spec, const std::string& arch) {
  if (options.lessons.empty()) {
    return {};
  }
  constexpr std::size_t kShown = 12;
  return lessons_for(or_usage(read_lesson_store(options.lessons)), spec, arch, kShown);
}

}  // namespace

int run_command(Session& session) {
  const Options& options = session.options;
  const Spec spec = read_spec(options.spec);
  SteadyClock clock;
  const RunFolder folder(choose_folder(options, spec, clock));
  const Map<ModelConfig> configs = model_configs(options, session.settings);
  const RunSettings settings = run_settings(session);
  const std::unique_ptr<Compiler> compiler = open_compiler(session.settings);
  const Machine machine = open_machine(session, spec.arch);
  const FreshFolder fresh(folder.root());
  std::optional<SqliteLedger> ledger;
  if (options.resume) {
    ledger.emplace(folder.ledger_file(), SqliteLedger::Mode::kWrite);
    refuse_changed_spec(*ledger, spec);
  }

  RunProgress progress(session.console, options.json, settings.budget.attempts);
  const Observer observe = [&progress](const Event& event) { progress.show(event); };
  Endpoints endpoints;
  ModelHooks hooks;
  hooks.notice = [&observe](const std::string& text) { observe({Event::Kind::kNote, {}, text, {}}); };
  const auto spending = std::make_shared<Spending>();
  hooks.may_spend = [spending](const Usage& so_far) { return spending->refusal(so_far).empty(); };
  const Map<std::unique_ptr<Model>> models = open_models(options, configs, clock, endpoints, hooks);

  Factory factory;
  factory.spec = &spec;
  factory.facts = machine.facts;
  for (const auto& [role, model] : models) {
    (role.empty() ? factory.writer : factory.models[role]) = model.get();
  }
  factory.compiler = compiler.get();
  factory.rig = machine.rig.get();
  factory.emulator = machine.emulator.get();
  factory.clock = &clock;
  factory.lessons = earlier_lessons(options, spec, machine.facts.arch);
  factory.origin = folder.root().filename().string();
  factory.observe = observe;
  factory.spending = spending;
  if (!options.json) {
    say_device(session.console, machine);
  }
  if (std::error_code none; !options.lessons.empty() && !fs::exists(options.lessons, none)) {
    observe(
        {Event::Kind::kNote,
         {},
         "--lessons " + options.lessons +
             ": there is no such file yet, so none are taken from it; it is made at the end, if this run has lessons",
         {}});
  }
  if (ledger) {
    if (const std::optional<RunStart> start = read_start(*ledger)) {
      for (const std::string& remark :
           remarks_on_resuming(*start, settings, session.settings, machine.emulator != nullptr)) {
        observe({Event::Kind::kNote, {}, remark, {}});
      }
    }
  }
  const std::string admission = admit_or_refuse(factory, session);
  if (machine.rig != nullptr && admission != "admitted") {
    observe({Event::Kind::kNote, {}, "admission: " + admission, {}});
  } else if (machine.rig == nullptr && !options.json) {
    session.console.line("admission " + admission);
  }
  if (!ledger) {  // only now: a folder with a ledger holds a run
    ledger.emplace(folder.ledger_file(), SqliteLedger::Mode::kWrite);
    if (read_start(*ledger)) {  // another run began here while this one was being set up
      throw already_holds_a_run(folder.root());
    }
  }
  factory.ledger = &*ledger;
  write_event(*ledger, "admission", admission);

  const RunResult result = run_factory(factory, settings, session.stop);
  project(folder, factory, settings, result);
  if (!options.lessons.empty() && !result.lessons.empty()) {
    or_usage(merge_into_lesson_store(options.lessons, result.lessons, merge_lessons));
  }
  const int code = exit_code(result, factory);
  print_end(session, result, machine, settings.budget, folder.root(), code);
  return code;
}

}  // namespace kf
