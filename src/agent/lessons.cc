// SPDX-License-Identifier: Apache-2.0
// Lessons as values: choosing, merging, showing. Where they come from: librarian.cc.
#include <kfactory/agent.h>

#include <algorithm>
#include <map>

#include "agent/case_text.h"
#include "agent/lesson_text.h"
#include "agent/prompts.h"

namespace kf {
namespace {

// "sm_90a" and "sm_90" are one family.
std::string_view family_of(std::string_view arch) {
  while (!arch.empty() && (arch.back() < '0' || arch.back() > '9')) {
    arch.remove_suffix(1);
  }
  return arch;
}

bool has_dtype(const Spec& spec, std::string_view dtype) {
  const bool typed = std::ranges::any_of(spec.types, [&](const auto& entry) {
    return std::ranges::any_of(entry.second, [&](Dtype of) { return to_string(of) == dtype; });
  });
  return typed || std::ranges::any_of(spec.tensors, [&](const TensorSpec& tensor) { return tensor.dtype == dtype; });
}

bool fits(const Lesson& lesson, const Spec& spec, std::string_view arch) {
  const bool by_dtype = lesson.dtypes.empty() || std::ranges::any_of(lesson.dtypes, [&](const std::string& dtype) {
                          return has_dtype(spec, dtype);
                        });
  if (!by_dtype || (!lesson.arch.empty() && family_of(lesson.arch) != family_of(arch)) ||
      (!lesson.op_type.empty() && lesson.op_type != spec.op_type)) {
    return false;
  }
  // A shape over axes that this spec does not have cannot be judged, and does not fit.
  return lesson.shapes.empty() || std::ranges::any_of(shown_cases(spec, "time"), [&](const Case& of) {
           return within_scope(spec, of, lesson.dtypes, lesson.shapes).value_or(false);
         });
}

// The middle one of the measured ratios.
double typical_ratio(const Lesson& lesson) {
  std::vector<double> ratios;
  for (const auto* effects : {&lesson.supporting, &lesson.contradicting}) {
    std::ranges::transform(*effects, std::back_inserter(ratios), &Effect::ratio);
  }
  std::ranges::sort(ratios);
  return ratios[ratios.size() / 2];
}

std::string scope_text(const Lesson& lesson) {
  std::string text = lesson.arch + (lesson.op_type.empty() ? "" : " " + lesson.op_type);
  for (const auto* list : {&lesson.dtypes, &lesson.shapes}) {
    for (const std::string& entry : *list) {
      text += (text.empty() ? "" : ", ") + entry;
    }
  }
  return text.empty() ? "anywhere" : safe_line(text, 200);
}

std::string pairs_text(const std::vector<Effect>& effects, const std::string& origin) {
  std::string text;
  for (const Effect& effect : effects) {
    const std::string run = effect.run.empty() || effect.run == origin ? "" : " in " + safe_line(effect.run, 80);
    text += (text.empty() ? "" : "; ") + std::to_string(effect.with.value) + " against " +
            std::to_string(effect.without.value) + run + ": " + decimal(effect.ratio, 3) +
            (effect.estimate ? " (estimate)" : "");
  }
  return text.empty() ? "none" : text;
}

std::string lesson_section(const Lesson& lesson) {
  std::string text = "### " + safe_line(lesson.claim, 300) + "\n\n";
  text +=
      "- " + lesson.id + (lesson.technique.empty() ? "" : ", technique: " + safe_line(lesson.technique, 100)) + "\n";
  text += "- scope: " + scope_text(lesson) + "\n";
  if (!lesson.predicted.empty()) {
    text += "- predicted: " + safe_line(lesson.predicted, 200) + "\n";
  }
  if (lesson.conjecture()) {
    text += "- conjecture: nothing was measured for or against it\n";
  } else {
    text += "- " + std::string(lesson.evidence()) + ", confidence " + decimal(lesson.confidence(), 2) +
            "; time with / time without:\n";
    text += "  - for it: " + pairs_text(lesson.supporting, lesson.origin) + "\n";
    text += "  - against it: " + pairs_text(lesson.contradicting, lesson.origin) + "\n";
  }
  return text + "- from " + (lesson.origin.empty() ? "this run" : safe_line(lesson.origin, 120)) + "\n\n";
}

std::vector<const Lesson*> by_confidence(std::span<const Lesson> lessons) {
  std::vector<const Lesson*> order;
  std::ranges::transform(lessons, std::back_inserter(order), [](const Lesson& lesson) { return &lesson; });
  const auto rank = [](const Lesson* lesson) {
    return std::tuple(lesson->conjecture(), -lesson->confidence(),
                      -static_cast<std::ptrdiff_t>(lesson->supporting.size() + lesson->contradicting.size()),
                      lesson->id, lesson);
  };
  std::ranges::sort(order, {}, rank);
  return order;
}

using PairKey = std::tuple<std::string, AttemptId, AttemptId>;

void unite(Lesson& into, const Lesson& more) {
  std::map<PairKey, bool> seen;
  for (auto* effects : {&into.supporting, &into.contradicting}) {
    for (const Effect& effect : *effects) {
      seen[{effect.run.empty() ? into.origin : effect.run, effect.with, effect.without}] = true;
    }
  }
  const auto add = [&](const std::vector<Effect>& from, std::vector<Effect>& to) {
    for (Effect effect : from) {
      const std::string run = effect.run.empty() ? more.origin : effect.run;
      if (!std::exchange(seen[{run, effect.with, effect.without}], true)) {
        effect.run = run == into.origin ? "" : run;
        to.push_back(std::move(effect));
      }
    }
  };
  add(more.supporting, into.supporting);
  add(more.contradicting, into.contradicting);
  if (into.predicted.empty()) {
    into.predicted = more.predicted;
  }
  if (into.technique.empty()) {
    into.technique = more.technique;
  }
}

}  // namespace

std::string lesson_line(const Lesson& lesson) {
  std::string text = safe_line(lesson.claim, 300) + " (";
  if (!lesson.technique.empty()) {
    text += safe_line(lesson.technique, 100) + "; ";
  }
  text += scope_text(lesson) + "): ";
  if (lesson.conjecture()) {
    return text + "a conjecture, never measured";
  }
  const bool estimates = lesson.evidence() != "measured";
  return text + std::string(lesson.evidence()) + ": " + std::to_string(lesson.supporting.size()) + " for it, " +
         std::to_string(lesson.contradicting.size()) + " against; typical time with / without " +
         decimal(typical_ratio(lesson), 2) + (estimates ? " (with an emulator's estimates)" : "");
}

std::vector<Lesson> lessons_for(std::span<const Lesson> store, const Spec& spec, std::string_view arch,
                                std::size_t limit) {
  std::vector<Lesson> chosen;
  for (const Lesson* lesson : by_confidence(store)) {
    if (chosen.size() < limit && fits(*lesson, spec, arch)) {
      chosen.push_back(*lesson);
    }
  }
  return chosen;
}

std::vector<Lesson> merge_lessons(std::vector<Lesson> store, std::span<const Lesson> more) {
  for (const Lesson& lesson : more) {
    const auto there = std::ranges::find(store, lesson.id, &Lesson::id);
    if (there == store.end()) {
      store.push_back(lesson);
    } else {
      unite(*there, lesson);
    }
  }
  return store;
}

std::string lessons_markdown(std::span<const Lesson> lessons) {
  std::string measured, estimated, conjectures;
  for (const Lesson* lesson : by_confidence(lessons)) {
    (lesson->conjecture()                ? conjectures
     : lesson->evidence() == "estimated" ? estimated
                                         : measured) += lesson_section(*lesson);
  }
  std::string text = "# Lessons\n\n";
  text += measured.empty() ? "Nothing was measured for or against any claim.\n\n" : "## Measured\n\n" + measured;
  text += estimated.empty() ? "" : "## By an emulator's estimates, not by times\n\n" + estimated;
  text += conjectures.empty() ? "" : "## Conjectures\n\n" + conjectures;
  text.pop_back();
  return text;
}

}  // namespace kf
