// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <stop_token>

#include "cli/console.h"
#include "cli/options.h"
#include "cli/settings.h"

namespace kf {

// What a command may use. Errors go to stderr in main.
struct Session {
  const Options& options;
  const Settings& settings;
  Console& console;      // stdout: what was asked for
  Console& remarks;      // stderr: what is good to know beside it
  std::stop_token stop;  // SIGINT, SIGTERM
};

// What ended a command early, to be printed by main: exit code 2, a wrong command line, spec or file.
struct UsageError {
  Errors errors;
};

// Exit codes, as `kfactory --help` lists them.
namespace exits {
inline constexpr int kDone = 0, kCannotGoOn = 1, kUsage = 2, kNothingWon = 3, kWaiting = 4, kInterrupted = 130;
}

// One file each. Throw UsageError and Fatal.
int run_command(Session& session);
int bench_command(Session& session);
int eval_command(Session& session);
int check_command(Session& session);
int gauntlet_command(Session& session);
int show_command(Session& session);
int lessons_command(Session& session);
int doctor_command(Session& session);
int config_command(Session& session);
// Before any thread is started: the worker forks.
int worker_command(const Options& options, const Settings& settings);

}  // namespace kf
