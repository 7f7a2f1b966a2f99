// SPDX-License-Identifier: Apache-2.0
#include "cli/options.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

namespace kf {
namespace {

Options read(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "kfactory");
  return read_options(static_cast<int>(arguments.size()), arguments.data());
}

TEST(Options, NameTheNearestCommandAndOption) {
  const Options command = read({"evla", "spec.json"});
  EXPECT_EQ(command.exit_code, 2);
  EXPECT_EQ(command.text,
            "kfactory: there is no command \"evla\"; did you mean \"eval\"? (kfactory --help lists all)\n");
  const Options option = read({"run", "spec.json", "--atempts", "3"});
  EXPECT_EQ(option.exit_code, 2);
  EXPECT_NE(option.text.find("\"run\" has no option \"--atempts\"; did you mean \"--attempts\"?"), std::string::npos)
      << option.text;
}

TEST(Options, DoNotOfferTheHiddenWorker) {
  EXPECT_EQ(read({"worke"}).text.find("worker"), std::string::npos);
}

TEST(Options, TakeSeveralPrices) {
  const Options options = read({"run", "spec.json", "--price", "a 1 2", "--price", "b* 3 4 0.5", "--attempts", "3"});
  EXPECT_EQ(options.command, "run");
  EXPECT_EQ(options.flags.at("model.prices"), "a 1 2\nb* 3 4 0.5\n");
  EXPECT_EQ(options.flags.at("run.attempts"), "3");
}

TEST(Options, NameTheCommandsWhereNoneIsGiven) {
  const Options none = read({});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_EQ(none.text.find("kfactory: which command? There are run, bench, eval, "), 0U) << none.text;
  EXPECT_EQ(none.text.find("worker"), std::string::npos);
}

TEST(Options, PointToTheHelpOfTheCommandThatLacksSomething) {
  EXPECT_NE(read({"gauntlet", "spec.json"}).text.find("kfactory gauntlet --help says what it takes."),
            std::string::npos)
      << read({"gauntlet", "spec.json"}).text;
}

// As many columns as COLUMNS says; a pipe has none of its own.
std::string help_at(const char* columns, const char* command) {
  setenv("COLUMNS", columns, 1);
  const Options help = command == nullptr ? read({"--help"}) : read({command, "--help"});
  unsetenv("COLUMNS");
  EXPECT_EQ(help.exit_code, 0);
  return help.text;
}

TEST(Options, HelpFitsTheTerminal) {
  for (const char* command : {"run", "bench", "eval", "gauntlet", "check", "show", "lessons", "doctor", "config"}) {
    const std::string text = help_at("80", command);
    const std::string options = text.substr(0, text.find("Example:"));
    std::istringstream lines(options);
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(line.size(), 80U) << command << ": " << line;
    }
  }
  std::istringstream lines(help_at("80", nullptr));
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), line.starts_with("  kfactory ") ? 100U : 80U) << line;
  }
}

TEST(Options, HelpSaysWhatKindOfValueAnOptionTakes) {
  const std::string run = help_at("100", "run");
  for (const char* option : {"--attempts N ", "--wall TIME ", "--out FOLDER ", "--replay FILE ", "--margin SHARE "}) {
    EXPECT_NE(run.find(option), std::string::npos) << option << run;
  }
  EXPECT_NE(help_at("100", "eval").find("--repeat N "), std::string::npos);
  EXPECT_EQ(help_at("100", "lessons").find(":list"), std::string::npos);
}

TEST(Options, HelpOfACommandThatIsNotThereIsAMistake) {
  const Options help = read({"evla", "--help"});
  EXPECT_EQ(help.exit_code, 2);
  EXPECT_NE(help.text.find("did you mean \"eval\"?"), std::string::npos) << help.text;
}

TEST(Options, NoWaitNeedsAnExchange) {
  const Options options = read({"run", "spec.json", "--no-wait"});
  EXPECT_EQ(options.exit_code, 2);
  EXPECT_EQ(options.text.find("kfactory: run: --no-wait requires --exchange"), 0U) << options.text;
}

TEST(Options, NameTheCommandThatLacksSomething) {
  EXPECT_EQ(read({"show"}).text.find("kfactory: show: run is required"), 0U) << read({"show"}).text;
}

TEST(Options, SayWhatIsMissing) {
  EXPECT_NE(read({"run"}).text.find("spec"), std::string::npos);
  EXPECT_EQ(read({"run"}).exit_code, 2);
  EXPECT_EQ(read({"--version"}).exit_code, 0);
}

}  // namespace
}  // namespace kf
