// SPDX-License-Identifier: Apache-2.0
// Records of the run itself: attempt 0.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "format/attempt_json.h"
#include "format/lesson_json.h"
#include "format/outcome_json.h"
#include "record_parts.h"
#include "records.h"

namespace kf {
namespace {

using Json = nlohmann::ordered_json;

const std::string kFilePrefix = "file:";  // blobs of files that the spec names

}  // namespace

std::optional<RunStart> read_start(const Ledger& ledger) {
  for (const Record& record : ledger.read({0}, {0})) {
    if (record.stage != Stage::kRun) {
      continue;
    }
    const Json json = json_of(record);
    if (json.value("event", "") != "started") {
      continue;
    }
    RunStart start;
    const Digest secret = read_or_throw(record, digest_from_hex(json.value("secret", "")));
    start.secret.bytes = secret.sha256;
    OrErrors<std::vector<Lesson>> lessons = lessons_from_jsonl(blob_of(ledger, record, "lessons"), "lessons");
    if (!lessons) {
      throw unreadable_record(record, to_string(lessons.error()));
    }
    start.lessons = std::move(*lessons);
    const Json settings = json.value("settings", Json::object());
    SearchSettings& search = start.search;
    search.in_flight = settings.value("in_flight", search.in_flight);
    search.max_repairs = settings.value("max_repairs", search.max_repairs);
    search.stagnation = settings.value("stagnation", search.stagnation);
    search.max_output_tokens = settings.value("max_output_tokens", search.max_output_tokens);
    search.prompt_bytes = settings.value("prompt_bytes", search.prompt_bytes);
    start.screen_cases = settings.value("screen_cases", RunSettings{}.screen_cases);
    start.max_variants = settings.value("max_variants", RunSettings{}.max_variants);
    start.margin = settings.value("margin", RunSettings{}.margin);
    start.device = read_or_throw(record, device_facts_from_json(json.value("device", Json::object()).dump()));
    if (const auto found = json.find("emulator_first"); found != json.end() && found->is_boolean()) {
      start.emulator_first = found->get<bool>();
    }
    start.utc = json.value("utc", "");
    start.spec_json = blob_of(ledger, record, "spec");
    for (const std::string& name : json.value("blobs", std::vector<std::string>{})) {
      if (name.starts_with(kFilePrefix)) {
        start.spec_files[name.substr(kFilePrefix.size())] = blob_of(ledger, record, name);
      }
    }
    return start;
  }
  return std::nullopt;
}

void write_start(Ledger& ledger, const Factory& factory, const RunSettings& settings) {
  Digest secret;
  secret.sha256 = settings.secret.bytes;
  const Budget& budget = settings.budget;
  const SearchSettings& search = settings.search;
  Json json{
      {"event", "started"}, {"secret", to_hex(secret)}, {"utc", factory.clock->utc()}, {"spec", factory.spec->name}};
  json["settings"] = {{"attempts", budget.attempts},
                      {"wall_ms", budget.wall.count()},
                      {"tokens", budget.tokens},
                      {"cost_nanodollars", budget.cost_nanodollars},
                      {"in_flight", search.in_flight},
                      {"max_repairs", search.max_repairs},
                      {"stagnation", search.stagnation},
                      {"max_output_tokens", search.max_output_tokens},
                      {"prompt_bytes", search.prompt_bytes},
                      {"screen_cases", settings.screen_cases},
                      {"max_variants", settings.max_variants},
                      {"margin", settings.margin}};
  json["versions"] = {{"compiler", factory.compiler->version()}, {"model", factory.writer->description()}};
  json["device"] = Json::parse(device_facts_json(factory.facts));
  json["emulator_first"] = factory.emulator != nullptr;
  Record record;
  Json names = Json::array();
  const auto add = [&](const std::string& name, std::string_view bytes) {
    names.push_back(name);
    record.blobs.push_back(ledger.put(bytes_of(bytes)));
  };
  const Spec& spec = *factory.spec;
  add("spec", spec.json);
  add(kFilePrefix + spec.reference.cuda.path, spec.reference.cuda.content);
  for (const BaselineSpec& baseline : spec.baselines) {
    add(kFilePrefix + baseline.source.path, baseline.source.content);
  }
  if (!factory.lessons.empty()) {
    add("lessons", lessons_jsonl(factory.lessons));
  }
  json["blobs"] = std::move(names);
  record.json = text_of(json);
  ledger.append(record);
}

void write_event(Ledger& ledger, const std::string& event, const std::string& detail, AttemptId attempt) {
  Json json{{"event", event}};
  if (attempt.value != 0) {
    json["attempt"] = attempt.value;
  }
  if (!detail.empty()) {
    json["detail"] = detail;
  }
  Record record;
  record.json = text_of(json);
  ledger.append(record);
}

std::optional<std::string> read_settled_baseline(const Ledger& ledger, const std::string& name) {
  std::optional<std::string> source;
  for (const Record& record : ledger.read({0}, {0})) {
    const Json json = json_of(record);
    if (json.value("event", "") == "baseline_settled" && json.value("baseline", "") == name) {
      source = blob_of(ledger, record, "source");
    }
  }
  return source;
}

void write_settled_baseline(Ledger& ledger, const std::string& name, const std::string& source,
                            const std::vector<std::string>& notes) {
  Json json{{"event", "baseline_settled"}, {"baseline", name}, {"notes", notes}};
  Record record;
  if (!source.empty()) {
    json["blobs"] = Json::array({"source"});
    record.blobs.push_back(ledger.put(bytes_of(source)));
  }
  record.json = text_of(json);
  ledger.append(record);
}

std::map<std::int64_t, std::string> read_copy_ways(const Ledger& ledger) {
  std::map<std::int64_t, std::string> ways;
  for (const Record& record : ledger.read({0}, {0})) {
    const Json json = json_of(record);
    if (json.value("event", "") != "copy_ways") {
      continue;
    }
    for (const Json& way : json.value("ways", Json::array())) {
      ways[way.value("bytes", std::int64_t{0})] = way.value("id", "");
    }
  }
  return ways;
}

void write_copy_ways(Ledger& ledger, const std::map<std::int64_t, std::string>& found) {
  Json ways = Json::array();
  for (const auto& [bytes, id] : found) {
    ways.push_back({{"bytes", bytes}, {"id", id}});
  }
  Record record;
  record.json = Json{{"event", "copy_ways"}, {"ways", std::move(ways)}}.dump();
  ledger.append(record);
}

LessonRound read_lesson_round(const Ledger& ledger, AttemptId through) {
  LessonRound round;
  std::vector<Lesson> pending;
  for (const Record& record : ledger.read({0}, {0})) {
    const Json json = json_of(record);
    if (record.stage == Stage::kLesson) {
      pending.push_back(read_or_throw(record, lesson_from_json(record.json)));
      continue;
    }
    const bool ours = json.value("through", std::int64_t{0}) == through.value;
    if (json.value("event", "") == "replied") {
      ++round.rounds;
      round.reply = ours ? std::optional(blob_of(ledger, record, "reply")) : std::nullopt;
      pending.clear();  // of a round that was interrupted
    } else if (json.value("event", "") == "lessons") {
      round.complete = ours;
      std::ranges::move(pending, std::back_inserter(round.lessons));
      pending.clear();
    }
  }
  return round;
}

void write_lesson_reply(Ledger& ledger, const Reply& reply, std::uint64_t ordinal, AttemptId through) {
  Json json{{"event", "replied"}, {"role", "librarian"}, {"ordinal", ordinal}, {"through", through.value}};
  json.update(reply_json(reply));
  Record record;
  if (!reply.text.empty()) {
    json["blobs"] = Json::array({"reply"});
    record.blobs.push_back(ledger.put(bytes_of(reply.text)));
  }
  record.json = text_of(json);
  ledger.append(record);
}

void write_lessons(Ledger& ledger, const std::vector<Lesson>& lessons, AttemptId through) {
  std::vector<std::string> there;  // written by a run that was interrupted here
  for (const Record& record : ledger.read({0}, {0})) {
    if (record.stage == Stage::kLesson) {
      there.push_back(record.json);
    }
  }
  for (const Lesson& lesson : lessons) {
    Record record;
    record.stage = Stage::kLesson;
    record.json = lesson_json(lesson);
    if (std::ranges::find(there, record.json) == there.end()) {
      ledger.append(record);
    }
  }
  Record record;
  record.json = Json{{"event", "lessons"}, {"through", through.value}, {"count", lessons.size()}}.dump();
  ledger.append(record);
}

}  // namespace kf
