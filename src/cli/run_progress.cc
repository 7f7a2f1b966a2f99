// SPDX-License-Identifier: Apache-2.0
#include "run_progress.h"

#include <fmt/format.h>

#include <algorithm>

#include "reports.h"

namespace kf {
namespace {

// Each attempt of a replay on another device says that its prompt differs: one line of that kind is enough.
std::string what_it_is_about(const std::string& note) {
  constexpr std::string_view kOtherRequest = "answers another request";
  return note.find(kOtherRequest) == std::string::npos ? note : std::string(kOtherRequest);
}

}  // namespace

void RunProgress::show(const Event& event) {
  if (json_) {
    console_.line(event_report(event));
    return;
  }
  plain(event);
  live();
}

void RunProgress::plain(const Event& event) {
  const std::string who = event.attempt.value > 0 ? fmt::format("[{:>4}] ", event.attempt.value) : "       ";
  // A pipe, which somebody may search, gets more of a long line than a terminal shows.
  constexpr int kPiped = 240;
  const auto columns =
      static_cast<std::size_t>(console_.terminal().live ? std::max(console_.terminal().columns - 8, 60) : kPiped);
  const auto say = [&](std::string_view what, Ink ink) {
    console_.line(who + cut_line(std::string(what) + event.text, columns), ink);
  };
  const std::int64_t id = event.attempt.value;
  switch (event.kind) {
    case Event::Kind::kAsked:
      under_way_[id] = "asked";
      return say("asked: ", Ink::kDim);
    case Event::Kind::kReplied:
      under_way_[id] = "evaluating";
      return say("answered: ", Ink::kDim);
    case Event::Kind::kVerdict: {
      const bool passed = event.text.find(": passed") != std::string::npos;
      if (!passed) {
        ++refused_;
        under_way_.erase(id);
      }
      return say(passed ? "" : "refused: ", passed ? Ink::kPlain : Ink::kBad);
    }
    case Event::Kind::kBuilt:
      ++right_;
      under_way_.erase(id);
      return say("built: ", Ink::kGood);
    case Event::Kind::kMeasured:
      ++right_;
      best_ = std::max(best_, event.speedup.value_or(0));
      estimate_ = event.estimate;
      under_way_.erase(id);
      return say(
          (event.estimate ? "right; " : "measured ") + ratio_text(event.speedup.value_or(0), event.estimate) + ", ",
          Ink::kGood);
    case Event::Kind::kChampion:
      return say("champion " + ratio_text(event.speedup.value_or(0), event.estimate) + ": ", Ink::kStrong);
    case Event::Kind::kNote:
      if (noted_.insert(what_it_is_about(event.text)).second) {
        say("note: ", Ink::kDim);
      }
      return;
    default:
      return say("", Ink::kPlain);
  }
}

void RunProgress::live() {
  std::string line =
      fmt::format("{} right, {} refused of {}; best {}", right_, refused_, attempts_, ratio_text(best_, estimate_));
  for (const auto& [id, what] : under_way_) {
    line += fmt::format("  [{}] {}", id, what);
  }
  console_.progress(line);
}

}  // namespace kf
