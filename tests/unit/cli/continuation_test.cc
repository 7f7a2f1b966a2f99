// SPDX-License-Identifier: Apache-2.0
#include "cli/continuation.h"

#include <gtest/gtest.h>

#include <cstdio>

#include "cli/words.h"

namespace kf {
namespace {

Options read(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "build/bin/kfactory");
  Options options = read_options(static_cast<int>(arguments.size()), arguments.data());
  EXPECT_EQ(options.command, "run") << options.text;
  return options;
}

// What a shell makes of a line.
std::vector<std::string> words_by_a_shell(const std::string& line) {
  std::FILE* pipe = popen(("printf '%s\\0' " + line).c_str(), "r");
  std::string text;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) {
    text += static_cast<char>(c);
  }
  pclose(pipe);
  std::vector<std::string> words;
  for (std::size_t from = 0; from < text.size(); from = text.find('\0', from) + 1) {
    words.emplace_back(text.c_str() + from);
  }
  return words;
}

TEST(ShellQuoted, IsReadBackByAShellAsTheSameWord) {
  for (const std::string word : {"plain", "", "two words", "it's", "$HOME", "`date`", "a\"b", "back\\slash", "!x",
                                 "~/x", "*", "new\nline", "a;b&c|d>e", "#x"}) {
    EXPECT_EQ(words_by_a_shell(shell_quoted(word)), std::vector<std::string>{word}) << word;
  }
}

TEST(Continuation, SaysEverythingThatTheCommandLineSaid) {
  const Options options = read({"run",
                                "my specs/s.json",
                                "--attempts",
                                "3",
                                "--wall",
                                "2h",
                                "--model",
                                "m",
                                "--base-url",
                                "http://127.0.0.1:8000/v1",
                                "--price",
                                "m 1 2",
                                "--price",
                                "n* 3 4",
                                "--device",
                                "emulator",
                                "--lessons",
                                "l.jsonl",
                                "--record",
                                "it's.jsonl",
                                "--trust-project",
                                "--config",
                                "c.toml"});
  const std::string command = continuation(options, "out/s-1");
  EXPECT_EQ(
      command,
      "build/bin/kfactory run 'my specs/s.json' --out out/s-1 --resume --record 'it'\\''s.jsonl' --lessons l.jsonl "
      "--attempts 3 --wall 2h --device emulator --model m --base-url http://127.0.0.1:8000/v1 --price 'm 1 2' --price "
      "'n* 3 4' --trust-project --config c.toml");
  std::vector<std::string> words = words_by_a_shell(command);
  std::vector<const char*> again;
  for (const std::string& word : words) {
    again.push_back(word.c_str());
  }
  const Options pasted = read_options(static_cast<int>(again.size()), again.data());
  EXPECT_EQ(pasted.flags, options.flags);
  EXPECT_EQ(pasted.spec, options.spec);
  EXPECT_EQ(pasted.out, "out/s-1");
  EXPECT_TRUE(pasted.resume);
  EXPECT_EQ(continuation(pasted, "out/s-1"), command) << "it can be pasted any number of times";
}

TEST(Continuation, KeepsTheMailboxOfAnExchange) {
  EXPECT_EQ(continuation(read({"run", "s.json", "--exchange", "mail", "--no-wait", "--json"}), "out/x"),
            "build/bin/kfactory run s.json --out out/x --resume --exchange mail --no-wait --json");
}

TEST(Continuation, NeverShowsAPasswordOfAnAddress) {
  const Options options = read({"run", "s.json", "--base-url", "https://me:hunter2@host/v1?key=abc"});
  const std::string command = continuation(options, "out/x");
  EXPECT_EQ(command.find("hunter2"), std::string::npos) << command;
  EXPECT_EQ(command.find("abc"), std::string::npos) << command;
  EXPECT_NE(command.find("(not shown)"), std::string::npos) << command;
}

TEST(Continuation, DoublesTheBudgetThatIsSpent) {
  Budget budget;
  budget.attempts = 6;
  budget.wall = std::chrono::seconds(90);
  budget.tokens = 1000;
  budget.cost_nanodollars = 250'000'000;
  const Options options = read({"run", "s.json", "--attempts", "6", "--wall", "90s"});
  RunResult result;
  const auto larger = [&](const std::string& detail) {
    result.detail = detail;
    return larger_budget(options, budget, result);
  };
  EXPECT_EQ(larger("attempts: 6 of 6"), (Map<std::string>{{"run.attempts", "12"}}));
  EXPECT_EQ(larger("wall time: 91.0 s of 90.0 s"), (Map<std::string>{{"run.wall", "180000ms"}}));
  EXPECT_EQ(larger("tokens: 1200 of 1000"), (Map<std::string>{{"run.tokens", "2000"}}));
  EXPECT_EQ(larger("cost: $0.3 of $0.25"), (Map<std::string>{{"run.cost", "0.5"}}));
  EXPECT_EQ(continuation(options, "out/x", larger("attempts: 6 of 6")),
            "build/bin/kfactory run s.json --out out/x --resume --attempts 12 --wall 90s");
  result.reason = StopReason::kInterrupted;
  EXPECT_TRUE(larger("interrupted").empty());
}

TEST(Continuation, DoesNotAskAReplayForMoreThanWasRecorded) {
  RunResult result;
  result.detail = "attempts: 6 of 6";
  EXPECT_TRUE(larger_budget(read({"run", "s.json", "--replay", "t.jsonl"}), {}, result).empty());
}

TEST(Continuation, NamesTheVariablesThatItNeeds) {
  SettingLayers layers;
  layers.environment = [](const std::string& name) -> std::optional<std::string> {
    return name == "KFACTORY_RUN_TOKENS"          ? std::optional<std::string>("5")
           : name == "KFACTORY_MODEL_WRITER_NAME" ? std::optional<std::string>("w")
                                                  : std::nullopt;
  };
  const OrErrors<Settings> settings = Settings::resolve(layers);
  ASSERT_TRUE(settings);
  EXPECT_EQ(needed_variables(*settings), "KFACTORY_RUN_TOKENS, KFACTORY_MODEL_WRITER_NAME");
}

}  // namespace
}  // namespace kf
