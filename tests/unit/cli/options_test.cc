// SPDX-License-Identifier: Apache-2.0
#include "cli/options.h"

#include <gtest/gtest.h>

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

TEST(Options, SayWhatIsMissing) {
  EXPECT_NE(read({"run"}).text.find("spec"), std::string::npos);
  EXPECT_EQ(read({"run"}).exit_code, 2);
  EXPECT_EQ(read({"--version"}).exit_code, 0);
}

}  // namespace
}  // namespace kf
