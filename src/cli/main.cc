// SPDX-License-Identifier: Apache-2.0
// Reads the command line, resolves the settings, calls one command. The only place that catches Fatal.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "cli/commands.h"
#include "compile/zygote.h"
#include "model/config.h"
#include "os/interrupt.h"

namespace kf {
namespace {

std::string user_file(const Options& options) {
  if (!options.config_file.empty()) {
    return options.config_file;
  }
  if (const char* folder = std::getenv("XDG_CONFIG_HOME"); folder != nullptr && *folder != '\0') {
    return std::string(folder) + "/kfactory/config.toml";
  }
  const char* home = std::getenv("HOME");
  return home == nullptr ? "" : std::string(home) + "/.config/kfactory/config.toml";
}

OrErrors<Settings> settings_for(const Options& options) {
  SettingLayers layers;
  layers.flags = options.flags;
  layers.environment = process_environment();
  layers.trust_project = options.trust_project;
  if (options.command == "worker") {
    return Settings::resolve(layers);  // everything comes from its flags
  }
  OrErrors<std::optional<SettingsFile>> user = read_settings_file(user_file(options));
  OrErrors<std::optional<SettingsFile>> project = read_settings_file("kfactory.toml");
  if (!user || !project) {
    return std::unexpected(user ? project.error() : user.error());
  }
  layers.user = std::move(*user);
  layers.project = std::move(*project);
  return Settings::resolve(layers);
}

int call(Session& session) {
  struct Command {
    std::string_view name;
    int (*run)(Session&);
  };
  constexpr std::array kCommands{
      Command{"run", run_command},         Command{"bench", bench_command},       Command{"eval", eval_command},
      Command{"check", check_command},     Command{"gauntlet", gauntlet_command}, Command{"show", show_command},
      Command{"lessons", lessons_command}, Command{"doctor", doctor_command},     Command{"config", config_command}};
  for (const Command& command : kCommands) {
    if (command.name == session.options.command) {
      return command.run(session);
    }
  }
  throw Fatal("there is no command called " + session.options.command);
}

int fail(const Errors& errors, int code) {
  std::fprintf(stderr, "kfactory: %s\n", printable(to_string(errors)).c_str());
  return code;
}

void not_complete(int number) {
  std::fprintf(stderr, "kfactory: what was printed is not complete: stdout: %s\n", std::strerror(number));
}

int start(const Options& options) {
  const OrErrors<Settings> settings = settings_for(options);
  if (!settings) {
    return fail(settings.error(), exits::kUsage);
  }
  if (options.command == "worker") {
    return worker_command(options, *settings);
  }
  Console console(stdout, terminal_of(stdout, process_environment()));
  Console remarks(stderr, terminal_of(stderr, process_environment()));
  const InterruptBridge interrupt;
  Session session{options, *settings, console, remarks, interrupt.token()};
  try {
    const int code = call(session);
    if (console.failure() == 0) {
      return code;
    }
    not_complete(console.failure());
    return code == exits::kDone || code == exits::kNothingWon ? exits::kCannotGoOn : code;
  } catch (const UsageError& error) {
    console.clear();
    return fail(error.errors, exits::kUsage);
  }
}

int main_of(int argc, char** argv) {
  fill_standard_streams();
  ignore_broken_pipes();
  if (argc == 2 && std::strcmp(argv[1], "compile-zygote") == 0) {
    return compile_zygote_main();  // before anything else: it forks, and must start fast
  }
  const Options options = read_options(argc, argv);
  if (options.command.empty()) {
    std::FILE* const stream = options.exit_code == 0 ? stdout : stderr;
    if ((std::fputs(options.text.c_str(), stream) < 0 || std::fflush(stream) != 0) && errno != EPIPE) {
      not_complete(errno);
      return options.exit_code == 0 ? exits::kCannotGoOn : options.exit_code;
    }
    return options.exit_code;
  }
  try {
    return start(options);
  } catch (const UsageError& error) {
    return fail(error.errors, exits::kUsage);
  } catch (const std::exception& fatal) {
    std::fprintf(stderr, "kfactory: %s\n", printable(fatal.what()).c_str());
    return exits::kCannotGoOn;
  }
}

}  // namespace
}  // namespace kf

int main(int argc, char** argv) {
  return kf::main_of(argc, argv);
}
