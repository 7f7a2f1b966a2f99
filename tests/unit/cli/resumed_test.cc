// SPDX-License-Identifier: Apache-2.0
#include "cli/resumed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace kf {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Settings given(const Map<std::string>& flags) {
  SettingLayers layers;
  layers.flags = flags;
  layers.environment = [](const std::string&) { return std::nullopt; };
  return Settings::resolve(layers).value();
}

RunStart started() {
  RunStart start;
  const RunSettings usual;
  start.search = usual.search;
  start.screen_cases = usual.screen_cases;
  start.max_variants = usual.max_variants;
  start.margin = usual.margin;
  return start;
}

TEST(Resuming, NamesWhatTheCommandLineAsksForInVain) {
  RunSettings wanted;
  wanted.search.in_flight = 1;
  wanted.margin = 0.1;
  const RunStart start = started();
  EXPECT_THAT(remarks_on_resuming(start, wanted, given({{"run.in_flight", "1"}, {"run.margin", "0.1"}}), false),
              ElementsAre("what shapes the search stays as it was when this run began: --in-flight 4 (not 1), --margin "
                          "0.005 (not 0.1)"));
  EXPECT_THAT(remarks_on_resuming(start, wanted, given({}), false), IsEmpty()) << "nobody asked for these";
  EXPECT_THAT(remarks_on_resuming(start, {}, given({{"run.margin", "0.005"}}), false), IsEmpty()) << "nothing differs";
}

TEST(Resuming, SaysThatTheEmulatorBeforeTheGpuCameOrWent) {
  RunStart start = started();
  EXPECT_THAT(remarks_on_resuming(start, {}, given({}), true), IsEmpty()) << "an older run, which did not say";
  start.emulator_first = true;
  EXPECT_THAT(remarks_on_resuming(start, {}, given({}), true), IsEmpty());
  EXPECT_THAT(remarks_on_resuming(start, {}, given({}), false),
              ElementsAre(HasSubstr("from here on they go to the GPU")));
  start.emulator_first = false;
  EXPECT_THAT(remarks_on_resuming(start, {}, given({}), true), ElementsAre(HasSubstr("they meet the emulator first")));
}

TEST(MissingReplies, AreOfTheRequestsWithoutOne) {
  const std::filesystem::path folder = testing::TempDir() + "kfactory-missing-replies";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  EXPECT_THAT(missing_replies(folder), IsEmpty());
  for (const char* name :
       {"writer-2.request.md", "writer-1.request.md", "writer-1.reply.md", "repairer-1.request.md"}) {
    std::ofstream(folder / name) << "x";
  }
  EXPECT_THAT(missing_replies(folder), ElementsAre("repairer-1.reply.md", "writer-2.reply.md"));
  EXPECT_THAT(missing_replies(folder / "not there"), IsEmpty());
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace kf
