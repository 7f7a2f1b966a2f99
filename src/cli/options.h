// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include <kfactory/error.h>
#include <kfactory/values.h>

namespace kf {

// A command line, read. Settings that were given as flags are in `flags` by key; the rest belongs to single commands.
struct Options {
  std::string program = "kfactory";  // as it was called
  std::string command;               // "run", "bench", ...; empty: only `text` is to be printed
  std::string text;                  // help, version, or what is wrong with the command line
  int exit_code = 0;                 // when command is empty
  Map<std::string> flags;
  bool trust_project = false;
  std::string config_file;  // instead of the user's own

  std::string spec, candidate, run_folder;  // positional
  std::vector<std::string> names;           // lessons merge: files; show: attempt
  std::string action;                       // lessons: list, merge; config: show
  std::string out, replay, exchange, record, lessons, cases;
  bool resume = false, no_wait = false, json = false, explain = false, confirm = false, no_time = false,
       first_refusal = false;
  std::string csv;
  std::string job_file, answer_file;  // worker: one job in a file, and where its answer goes
  std::int64_t repeat = 1;            // eval: passes of all checks
};

Options read_options(int argc, const char* const* argv);

// Version of the program, as `kfactory --version` and the worker's hello say it.
std::string_view program_version();

}  // namespace kf
