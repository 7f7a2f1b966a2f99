// SPDX-License-Identifier: Apache-2.0
// The one place that knows CLI11.
#include "options.h"

#include <CLI/CLI.hpp>

#include <algorithm>

#include "console.h"
#include "format/nearest.h"
#include "model/config.h"
#include "settings.h"

namespace kf {
namespace {

constexpr std::string_view kDescription =
    "kfactory writes GPU kernels: it reads a spec of an operation, lets language\n"
    "models propose CUDA C++, refuses what is wrong, measures what is right, and\n"
    "keeps winners and lessons.";

constexpr std::string_view kExitCodes =
    "Exit codes: 0 done; 1 cannot go on; 2 usage or spec error; 3 nothing beat the\n"
    "baseline, a candidate was refused, or no device to run on; 4 waiting for\n"
    "replies; 130 interrupted.";

// An option's names and what it takes, then what it does: as many lines of the terminal as that needs.
class WrappedHelp : public CLI::Formatter {
 public:
  explicit WrappedHelp(int columns) : columns_(std::clamp(columns, kLeast, kMost)) { column_width(kNames); }
  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    return beside("  " + make_option_name(option, is_positional) + make_option_opts(option), make_option_desc(option));
  }
  std::string make_option_opts(const CLI::Option* option) const override {  // what it needs is in its description
    const std::string takes = option->get_type_name();
    const bool several = option->get_expected_max() == CLI::detail::expected_max_vector_size;
    return (takes.empty() ? "" : " " + takes) + (several ? " ..." : "") + (option->get_required() ? " REQUIRED" : "");
  }
  std::string make_subcommand(const CLI::App* sub) const override {
    return beside("  " + sub->get_name(), sub->get_description());
  }

 private:
  std::string beside(std::string line, const std::string& description) const {
    std::string text;
    for (const std::string& words : wrapped(description, static_cast<std::size_t>(columns_ - kNames))) {
      if (line.size() + 2 > kNames) {  // the names alone fill their column
        text += line + "\n";
        line.clear();
      }
      line.resize(kNames, ' ');
      text += line + words + "\n";
      line.clear();
    }
    return text;
  }

  static constexpr int kNames = 28, kLeast = 60, kMost = 110;
  int columns_;
};

// What a setting takes, in one word of its help.
std::string takes(const SettingFacts& facts) {
  using Kind = SettingFacts::Kind;
  switch (facts.kind) {
    case Kind::kCount:
      return "N";
    case Kind::kTime:
      return "TIME";
    case Kind::kMoney:
      return "DOLLARS";
    case Kind::kShare:
      return "SHARE";
    case Kind::kYesNo:
      return "true|false";
    case Kind::kNumber:
      return "NUMBER";
    default:
      return "TEXT";
  }
}

struct Declared {
  CLI::App app{std::string(kDescription), "kfactory"};
  Options options;
  std::vector<std::unique_ptr<std::string>> values;  // stable places for CLI11 to write to
};

// What to do with the files that follow: a file in its place is the usual mistake.
CLI::Validator one_of(std::vector<std::string> words) {
  std::string all;
  for (const std::string& word : words) {
    all += (all.empty() ? "" : " or ") + word;
  }
  const auto check = [words = std::move(words), all](const std::string& given) {
    return std::ranges::find(words, given) != words.end() ? std::string()
                                                          : "first comes " + all + ", not \"" + given + "\"";
  };
  return CLI::Validator(check, "");
}

CLI::App* command(Declared& declared, const std::string& name, const std::string& text, const std::string& example) {
  CLI::App* sub = declared.app.add_subcommand(name, text);
  sub->footer("Example:\n  " + example);
  return sub;
}

// Flags for the settings whose key begins with one of the prefixes.
void add_settings(Declared& declared, CLI::App* sub, std::initializer_list<std::string_view> prefixes) {
  for (const SettingFacts& facts : all_settings()) {
    const bool wanted = std::any_of(prefixes.begin(), prefixes.end(),
                                    [&](std::string_view prefix) { return facts.key.starts_with(prefix); });
    if (!wanted || facts.flag.empty()) {
      continue;
    }
    const std::string help =
        std::string(facts.help) + (facts.fallback.empty() ? "" : " [" + std::string(facts.fallback) + "]");
    if (facts.kind == SettingFacts::Kind::kPrices) {  // may be given several times
      const auto append = [&declared, key = std::string(facts.key)](const std::vector<std::string>& values) {
        for (const std::string& value : values) {
          declared.options.flags[key] += value + "\n";
        }
      };
      sub->add_option_function<std::vector<std::string>>(std::string(facts.flag), append, help)
          ->take_all()
          ->expected(1)
          ->type_name("TEXT");
      continue;
    }
    sub->add_option_function<std::string>(
           std::string(facts.flag),
           [&declared, key = std::string(facts.key)](const std::string& value) { declared.options.flags[key] = value; },
           help)
        ->type_name(takes(facts));
  }
  sub->add_flag("--trust-project", declared.options.trust_project,
                "let kfactory.toml of this folder set endpoints, key names and programs");
  sub->add_option("--config", declared.options.config_file, "settings file instead of ~/.config/kfactory/config.toml")
      ->type_name("FILE");
}

void declare_run(Declared& declared) {
  Options& options = declared.options;
  CLI::App* sub = command(declared, "run", "Propose, prove, measure, learn, repeat",
                          "kfactory run specs/rmsnorm_fwd.json --model gpt-5 --attempts 40 --wall 2h\n  kfactory run "
                          "specs/rmsnorm_fwd.json --replay specs/transcripts/rmsnorm_fwd.jsonl\n  kfactory run "
                          "specs/rmsnorm_fwd.json --out out/a --resume");
  sub->add_option("spec", options.spec, "spec file")->required()->type_name("FILE");
  sub->add_option("--out", options.out, "run folder [out/<spec>-<time>]")->type_name("FOLDER");
  sub->add_flag("--resume", options.resume, "go on with the run in --out");
  sub->add_option("--replay", options.replay, "answers from a recorded transcript instead of a model")
      ->type_name("FILE");
  CLI::Option* exchange =
      sub->add_option("--exchange", options.exchange, "requests as files into this folder, replies as files from it")
          ->type_name("FOLDER");
  sub->add_flag("--no-wait", options.no_wait, "with --exchange: end with exit code 4 where a reply is missing")
      ->needs(exchange);
  sub->add_option("--record", options.record, "write the calls and answers of this run to a transcript")
      ->type_name("FILE");
  sub->add_option("--lessons", options.lessons,
                  "lessons of earlier runs for the prompts; this run's are merged into it (made where it is not there)")
      ->type_name("FILE");
  sub->add_flag("--json", options.json, "one JSON object a line for each event");
  add_settings(declared, sub, {"run.", "device.", "toolkit.", "model."});
}

void declare_evaluating(Declared& declared) {
  Options& options = declared.options;
  CLI::App* bench = command(declared, "bench", "Measure the winner of a run again, on all timed cases",
                            "kfactory bench out/rmsnorm_fwd-20261130-123835 --csv rows.csv");
  bench->add_option("run", options.run_folder, "run folder")->required()->type_name("FOLDER");
  bench->add_flag("--json", options.json, "the result as JSON on stdout");
  bench->add_option("--csv", options.csv, "also write the rows to this file")->type_name("FILE");
  bench->add_option("--out", options.out, "also write the JSON to this file")->type_name("FILE");
  add_settings(declared, bench, {"run.compile_jobs", "run.margin", "device.", "toolkit."});

  CLI::App* eval = command(declared, "eval", "Put one candidate through every gate",
                           "kfactory eval specs/rmsnorm_fwd.json my_kernel.cu --json");
  eval->add_option("spec", options.spec, "spec file")->required()->type_name("FILE");
  eval->add_option("candidate", options.candidate, "candidate file (.cu with its launch plan)")
      ->required()
      ->type_name("FILE");
  eval->add_flag("--json", options.json, "the result as JSON on stdout (docs/formats/cli.md)");
  eval->add_flag("--explain", options.explain, "show the source lines that a finding names");
  eval->add_flag("--confirm", options.confirm, "fresh seeds, timed shapes checked too, held-out cases");
  eval->add_flag("--no-time", options.no_time, "stop after the checks");
  eval->add_option("--repeat", options.repeat, "make all checks so many times, each with fresh seeds [1]")
      ->check(CLI::Range(1, 1'000'000).description(""))
      ->type_name("N");
  eval->add_option("--cases", options.cases, "timed cases: all, screen, or ids separated by commas [screen]")
      ->type_name("CASES");
  add_settings(declared, eval,
               {"run.compile_jobs", "run.margin", "run.max_variants", "run.screen_cases", "device.", "toolkit."});

  CLI::App* gauntlet = command(declared, "gauntlet", "Every gate for each candidate, even after a refusal, as a table",
                               "kfactory gauntlet specs/rmsnorm_fwd.json suspicious.cu other.cu --device cuda");
  gauntlet->add_option("spec", options.spec, "spec file")->required()->type_name("FILE");
  gauntlet->add_option("candidates", options.names, "candidate files (.cu with their launch plans)")
      ->required()
      ->type_name("FILE");
  gauntlet->add_flag("--json", options.json, "one JSON object a line for each candidate (docs/formats/cli.md)");
  gauntlet->add_flag("--first-refusal", options.first_refusal, "stop at each candidate's first refusal, as a run does");
  gauntlet->add_flag("--no-time", options.no_time, "leave out the timed-run gate");
  gauntlet->add_flag("--confirm", options.confirm, "then everything once more in a fresh process, with held-out cases");
  gauntlet->add_option("--cases", options.cases, "timed cases: all, screen, or ids separated by commas [screen]")
      ->type_name("CASES");
  add_settings(declared, gauntlet,
               {"run.compile_jobs", "run.margin", "run.max_variants", "run.screen_cases", "device.", "toolkit."});

  CLI::App* check = command(declared, "check", "Is this spec sound?", "kfactory check specs/rmsnorm_fwd.json");
  check->add_option("spec", options.spec, "spec file")->required()->type_name("FILE");
  check->add_flag("--json", options.json, "the result as JSON on stdout");
  add_settings(declared, check, {"run.compile_jobs", "device.", "toolkit."});
}

void declare_reading(Declared& declared) {
  Options& options = declared.options;
  CLI::App* show = command(declared, "show", "Leader board of a run; one attempt's story",
                           "kfactory show out/rmsnorm_fwd-20261130-123835 7");
  show->add_option("run", options.run_folder, "run folder")->required()->type_name("FOLDER");
  show->add_option("attempt", options.names, "number of an attempt")->type_name("N");
  show->add_flag("--json", options.json, "the attempts as JSON on stdout");

  CLI::App* lessons =
      command(declared, "lessons", "List lessons, or merge several files",
              "kfactory lessons list out/a/lessons.jsonl\n  kfactory lessons merge --out all.jsonl a.jsonl b.jsonl");
  lessons->add_option("action", options.action, "list or merge")
      ->required()
      ->check(one_of({"list", "merge"}))
      ->type_name("");
  lessons->add_option("files", options.names, "lessons.jsonl files")->required()->type_name("FILE");
  lessons->add_option("--out", options.out, "merge: the file to write")->type_name("FILE");
  lessons->add_flag("--json", options.json, "list: one JSON object a line");
}

void declare_rest(Declared& declared) {
  Options& options = declared.options;
  CLI::App* doctor = command(declared, "doctor", "What this machine has, and what to do about what it lacks",
                             "kfactory doctor --base-url http://127.0.0.1:8000/v1 --model my-model");
  add_settings(declared, doctor, {"device.", "toolkit.", "model."});
  CLI::App* config =
      command(declared, "config", "Every setting, its value and where it comes from", "kfactory config show");
  config->add_option("action", options.action, "show, which may be left out")->check(one_of({"show"}))->type_name("");
  add_settings(declared, config, {"run.", "device.", "toolkit.", "model."});
  CLI::App* worker = command(declared, "worker", "The device's end of a run (started by kfactory itself)",
                             "kfactory worker --device emulator --target H200");
  worker->group("");  // hidden
  CLI::Option* job = worker->add_option("--job", declared.options.job_file, "perform the job in this file and end");
  worker->add_option("--answer", declared.options.answer_file, "write its answer to this file")->needs(job);
  add_settings(declared, worker, {"device."});
}

// A word that is no command, or an option that its command does not have: says which, and the nearest that there is.
// Empty: the mistake is another one.
std::string meant_instead(const CLI::App& app, int argc, const char* const* argv) {
  std::vector<std::string> commands;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App* of) { return !of->get_group().empty(); })) {
    commands.push_back(sub->get_name());
  }
  if (argc > 1 && std::string_view(argv[1]) == "worker") {
    return {};
  }
  const auto refused = [](const std::string& what, const std::string& hint, const std::string& help) {
    return what + (hint.empty() ? "" : "; " + hint) + " (" + help + " lists all)";
  };
  const std::string word = argc > 1 ? argv[1] : "";
  if (argc == 1) {
    std::string all;
    for (const std::string& name : commands) {
      all += (all.empty() ? "" : ", ") + name;
    }
    return "which command? There are " + all + " (kfactory --help says what each does)";
  }
  if (word.empty() || word.front() == '-') {
    return {};
  }
  if (std::ranges::find(commands, word) == commands.end()) {
    return refused("there is no command \"" + word + "\"", did_you_mean(word, commands), "kfactory --help");
  }
  const CLI::App* sub = app.get_subcommand(word);
  std::vector<std::string> options;
  for (const CLI::Option* option : sub->get_options()) {
    for (const std::string& name : option->get_lnames()) {
      options.push_back("--" + name);
    }
  }
  for (int i = 2; i < argc; ++i) {
    const std::string given = std::string(argv[i]).substr(0, std::string_view(argv[i]).find('='));
    if (given.starts_with("--") && given.size() > 2 && std::ranges::find(options, given) == options.end()) {
      const std::string help = "kfactory " + word + " --help";
      return refused("\"" + word + "\" has no option \"" + given + "\"", did_you_mean(given, options), help);
    }
  }
  return {};
}

// "kfactory evla --help": CLI11 would answer with the help of the whole program.
bool no_command(const CLI::App& app, int argc, const char* const* argv) {
  const auto is_it = [&](const CLI::App* sub) { return argc > 1 && sub->get_name() == argv[1]; };
  return argc > 1 && argv[1][0] != '-' && !std::ranges::any_of(app.get_subcommands(nullptr), is_it);
}

// CLI11's own words, with the help of the command that was meant instead of "Run with --help for more information.".
std::string what_is_wrong(const CLI::App& app, std::string words) {
  constexpr std::string_view kItsHint = "Run with --help for more information.";
  const std::vector<const CLI::App*> meant = app.get_subcommands([](const CLI::App* sub) { return sub->parsed(); });
  if (const std::size_t at = words.find(kItsHint); at != std::string::npos && !meant.empty()) {
    words.replace(at, kItsHint.size(), "kfactory " + meant.front()->get_name() + " --help says what it takes.");
  }
  return (meant.empty() ? "" : meant.front()->get_name() + ": ") + words;
}

// A shell expands "~/x" as a word of its own, but neither in "--out=~/x" nor between quotes.
void expand_home(std::string& path) {
  const char* home = std::getenv("HOME");
  if (home != nullptr && (path == "~" || path.starts_with("~/"))) {
    path = home + path.substr(1);
  }
}

void expand_homes(Options& options) {
  for (std::string* path : {&options.spec, &options.candidate, &options.run_folder, &options.out, &options.replay,
                            &options.exchange, &options.record, &options.lessons, &options.csv, &options.config_file}) {
    expand_home(*path);
  }
  if (options.command != "show") {
    std::ranges::for_each(options.names, expand_home);
  }
}

}  // namespace

std::string_view program_version() {
  return KF_VERSION;
}

Options read_options(int argc, const char* const* argv) {
  Declared declared;
  CLI::App& app = declared.app;
  app.set_version_flag("--version", "kfactory " + std::string(program_version()));
  app.footer(std::string(kExitCodes) +
             "\nExample:\n  kfactory run specs/rmsnorm_fwd.json --replay specs/transcripts/rmsnorm_fwd.jsonl");
  app.require_subcommand(1);
  app.formatter(std::make_shared<WrappedHelp>(terminal_of(stdout, process_environment()).columns));
  declare_run(declared);
  declare_evaluating(declared);
  declare_reading(declared);
  declare_rest(declared);
  try {
    app.parse(argc, argv);
    declared.options.command = app.get_subcommands().front()->get_name();
    declared.options.program = argv[0];
    expand_homes(declared.options);
  } catch (const CLI::ParseError& error) {
    std::ostringstream out, err;
    const bool asked = app.exit(error, out, err) == 0 && !no_command(app, argc, argv);
    const std::string meant = asked ? "" : meant_instead(app, argc, argv);
    declared.options.text =
        asked ? out.str() : "kfactory: " + (meant.empty() ? what_is_wrong(app, err.str()) : meant + "\n");
    declared.options.exit_code = asked ? 0 : 2;
  }
  return std::move(declared.options);
}

}  // namespace kf
