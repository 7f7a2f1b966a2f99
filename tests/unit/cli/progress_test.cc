// SPDX-License-Identifier: Apache-2.0
#include "cli/run_progress.h"

#include <gtest/gtest.h>

#include "printed.h"

namespace kf {
namespace {

std::string shown(const std::vector<Event>& events, bool live) {
  Terminal terminal;
  terminal.live = live;
  return printed(terminal, [&](Console& console) {
    RunProgress progress(console, false, 8);
    for (const Event& event : events) {
      progress.show(event);
    }
  });
}

const std::vector<Event> kEstimates{{Event::Kind::kMeasured, {1}, "win against the baseline", 2.6, true},
                                    {Event::Kind::kChampion, {1}, "attempt 1", 2.6, true}};

TEST(RunProgress, LabelsEachEstimate) {
  EXPECT_EQ(shown(kEstimates, false),
            "[   1] right; 2.600x estimate, win against the baseline\n[   1] champion 2.600x estimate: attempt 1\n");
}

TEST(RunProgress, LabelsTheBestOneOnTheLiveLineToo) {
  const std::string text = shown(kEstimates, true);
  EXPECT_NE(text.find("best 2.600x estimate"), std::string::npos) << text;
  for (std::size_t at = text.find("2.600x"); at != std::string::npos; at = text.find("2.600x", at + 1)) {
    EXPECT_EQ(text.substr(at, 15), "2.600x estimate");
  }
}

TEST(RunProgress, CallsATimeMeasured) {
  EXPECT_EQ(shown({{Event::Kind::kMeasured, {2}, "win against the baseline", 1.5}}, false),
            "[   2] measured 1.500x, win against the baseline\n");
}

}  // namespace
}  // namespace kf
