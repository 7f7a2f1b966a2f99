// SPDX-License-Identifier: Apache-2.0
#include "records.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include <kfactory/audit.h>

#include "format/attempt_json.h"
#include "format/lesson_json.h"
#include "format/outcome_json.h"

namespace kf {
namespace {

using Json = nlohmann::ordered_json;

const std::string kFilePrefix = "file:";  // blobs of files that the spec names

// Texts of models and servers are quoted in records; bytes that are no UTF-8 must not end the run.
std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

Fatal unreadable_record(const Record& record, const std::string& why) {
  return Fatal("record " + std::to_string(record.sequence) + " (" + std::string(to_string(record.stage)) +
               ", attempt " + std::to_string(record.of.attempt.value) + ") of the ledger cannot be read: " + why);
}

Json json_of(const Record& record) {
  Json json = Json::parse(record.json, nullptr, false);
  if (!json.is_object()) {
    throw unreadable_record(record, "not a JSON object");
  }
  return json;
}

template <class T>
T read_or_throw(const Record& record, OrError<T> value) {
  if (!value) {
    throw unreadable_record(record, to_string(value.error()));
  }
  return std::move(*value);
}

// The blob that the record calls `name`; empty when it has none.
std::string blob_of(const Ledger& ledger, const Record& record, const Json& json, std::string_view name) {
  const Json names = json.value("blobs", Json::array());
  for (std::size_t i = 0; i < names.size() && i < record.blobs.size(); ++i) {
    if (names[i] == name) {
      const std::optional<Bytes> bytes = ledger.get(record.blobs[i]);
      if (!bytes) {
        throw unreadable_record(record, "its blob \"" + std::string(name) + "\" is missing");
      }
      return {reinterpret_cast<const char*>(bytes->data()), bytes->size()};
    }
  }
  return {};
}

Json usage_of(const Usage& usage) {
  return Json::parse(usage_json(usage));
}

Json reply_json(const std::expected<Reply, ModelError>& reply) {
  if (!reply) {
    const ModelError& error = reply.error();
    return {{"error",
             {{"kind", to_string(error.kind)}, {"message", error.message}, {"run_can_go_on", error.run_can_go_on}}},
            {"usage", usage_of(error.spent)}};
  }
  return {{"finish", to_string(reply->finish)},   {"model", reply->model},
          {"request_id", reply->request_id},      {"tries", reply->tries},
          {"latency_ms", reply->latency.count()}, {"usage", usage_of(reply->usage)}};
}

std::expected<Reply, ModelError> read_reply(const Ledger& ledger, const Record& record) {
  const Json json = json_of(record);
  const auto usage = [&] {
    return json.contains("usage") ? read_or_throw(record, usage_from_json(json["usage"].dump())) : Usage{};
  };
  if (const auto found = json.find("error"); found != json.end()) {
    ModelError error;
    error.message = found->value("message", "");
    error.spent = usage();
    error.kind = ModelError::Kind::kNoReply;
    for (int kind = 0; kind <= static_cast<int>(ModelError::Kind::kWaiting); ++kind) {
      if (to_string(static_cast<ModelError::Kind>(kind)) == found->value("kind", "")) {
        error.kind = static_cast<ModelError::Kind>(kind);
      }
    }
    return std::unexpected(std::move(error));
  }
  Reply reply;
  reply.text = blob_of(ledger, record, json, "reply");
  reply.model = json.value("model", "");
  reply.usage = usage();
  return reply;
}

ModelCall read_call(const Ledger& ledger, const Record& record) {
  const Json json = json_of(record);
  ModelCall call;
  call.role = role_from_string(json.value("role", "")).value_or(Role::kWriter);
  call.ordinal = json.value("ordinal", std::uint64_t{0});
  call.system = blob_of(ledger, record, json, "system");
  call.prefix = blob_of(ledger, record, json, "prefix");
  call.prompt = blob_of(ledger, record, json, "prompt");
  call.max_output_tokens = json.value("max_output_tokens", call.max_output_tokens);
  return call;
}

Proposal read_proposal(const Json& json) {
  Proposal proposal;
  proposal.role = role_from_string(json.value("role", "")).value_or(Role::kWriter);
  proposal.direction = json.value("direction", "");
  if (const auto parent = json.find("parent"); parent != json.end() && parent->is_number_integer()) {
    proposal.parent = AttemptId{parent->get<std::int64_t>()};
  }
  return proposal;
}

Json proposal_json(const Proposal& proposal, std::uint64_t ordinal) {
  Json json{{"role", to_string(proposal.role)}, {"ordinal", ordinal}};
  json["parent"] = proposal.parent ? Json(proposal.parent->value) : Json(nullptr);
  json["direction"] = proposal.direction;
  return json;
}

std::optional<std::int64_t> plus(const std::optional<std::int64_t>& a, const std::optional<std::int64_t>& b) {
  return a && b ? std::optional(*a + *b) : a ? a : b;
}

}  // namespace

std::string opened_json(const Proposal& proposal, const ModelCall& call) {
  Json json = proposal_json(proposal, call.ordinal);
  json["max_output_tokens"] = call.max_output_tokens;
  json["blobs"] = {"system", "prefix", "prompt"};  // which the ledger puts beside it
  return text_of(json);
}

AttemptRecords read_attempt(const Ledger& ledger, AttemptId id) {
  AttemptRecords records;
  records.id = id;
  records.all = ledger.read(id, id);
  for (const Record& record : records.all) {
    switch (record.stage) {
      case Stage::kOpened: {
        const Json json = json_of(record);
        if (records.calls.empty()) {
          records.proposal = read_proposal(json);
          records.ordinal = json.value("ordinal", std::uint64_t{0});
        }
        records.calls.push_back(read_call(ledger, record));
        break;
      }
      case Stage::kReplied:
        records.replies.push_back(read_reply(ledger, record));
        break;
      case Stage::kMeasured:
        records.measurement =
            read_or_throw(record, measurement_from_json(blob_of(ledger, record, json_of(record), "measurement")));
        break;
      case Stage::kVerdict:
        records.verdict = read_or_throw(record, verdict_from_json(json_of(record).at("verdict").dump()));
        break;
      case Stage::kClosed:
        records.closed = read_or_throw(record, attempt_from_json(record.json));
        records.closed->source = blob_of(ledger, record, json_of(record), "source");
        break;
      default:
        break;
    }
  }
  return records;
}

AttemptLog::AttemptLog(Ledger& ledger, AttemptId id, std::vector<Record> already)
    : ledger_(ledger), id_(id), already_(std::move(already)) {}

void AttemptLog::append(Stage stage, std::int32_t tune, std::string json_without_blobs, Blobs blobs) {
  Record record;
  record.of = {id_, tune};
  record.stage = stage;
  Json json = Json::parse(json_without_blobs);
  Json names = Json::array();
  for (const auto& [name, bytes] : blobs) {
    if (!bytes.empty()) {
      names.push_back(name);
      record.blobs.push_back(ledger_.put(bytes_of(bytes)));
    }
  }
  if (!names.empty()) {
    json["blobs"] = std::move(names);
  }
  record.json = text_of(json);
  const auto same = std::ranges::find_if(already_, [&](const Record& there) {
    return there.stage == record.stage && there.of == record.of && there.json == record.json &&
           there.blobs == record.blobs;
  });
  if (same != already_.end()) {
    already_.erase(same);
    return;
  }
  ledger_.append(record);
}

void AttemptLog::reask(const Proposal& proposal, const ModelCall& call) {
  Json json = proposal_json(proposal, call.ordinal);
  json["max_output_tokens"] = call.max_output_tokens;
  json["reask"] = true;
  append(Stage::kOpened, 0, text_of(json), {{"system", call.system}, {"prefix", call.prefix}, {"prompt", call.prompt}});
}

void AttemptLog::replied(const std::expected<Reply, ModelError>& reply) {
  Blobs blobs;
  if (reply) {
    blobs = {{"reply", reply->text}, {"reasoning", reply->reasoning}, {"request", reply->request_body}};
  }
  append(Stage::kReplied, 0, text_of(reply_json(reply)), std::move(blobs));
}

void AttemptLog::candidate(const Candidate& candidate) {
  const Json json{{"hypothesis", candidate.plan.hypothesis}, {"source_sha256", to_hex(sha256(candidate.source))}};
  append(Stage::kCandidate, 0, text_of(json), {{"source", candidate.source}});
}

void AttemptLog::unreadable(const Errors& errors) {
  Json list = Json::array();
  for (const Error& error : errors) {
    list.push_back({{"where", error.where}, {"what", error.what}, {"hint", error.hint}});
  }
  append(Stage::kCandidate, 0, text_of(Json{{"errors", std::move(list)}}), {});
}

void AttemptLog::built(const Evaluation& evaluation) {
  for (std::size_t i = 0; i < evaluation.builds.size(); ++i) {
    const Build& build = evaluation.builds[i];
    const Json json{{"case", evaluation.build_cases[i]},
                    {"build", to_hex(build.id)},
                    {"toolchain", build.toolchain},
                    {"kernels", Json::parse(kernels_json(build.kernels))},
                    {"source_hash", normalised_ptx_hash(build.ptx)}};
    const std::string cubin(reinterpret_cast<const char*>(build.cubin.data()), build.cubin.size());
    append(Stage::kBuilt, evaluation.variant, json.dump(), {{"ptx", build.ptx}, {"cubin", cubin}, {"log", build.log}});
  }
  const Verdict& verdict = evaluation.verdict;
  if (!verdict.passed && verdict.gate == Gate::kCompile) {
    const Json json{{"case", verdict.case_id}, {"failure", {{"kind", verdict.reason}}}};
    append(Stage::kBuilt, evaluation.variant, json.dump(), {{"log", verdict.message}});
  }
}

void AttemptLog::evaluated(const Evaluation& evaluation) {
  built(evaluation);
  for (const Verdict& verdict : evaluation.steps) {
    append(Stage::kVerdict, evaluation.variant, Json{{"verdict", Json::parse(verdict_json(verdict))}}.dump(), {});
  }
  if (evaluation.measurement) {
    Json cases = Json::array();
    for (const CaseTiming& timing : evaluation.measurement->cases) {
      cases.push_back(timing.case_id);
    }
    append(Stage::kMeasured, evaluation.variant, Json{{"case", std::move(cases)}}.dump(),
           {{"measurement", measurement_json(*evaluation.measurement)}});
  }
  if (evaluation.score) {
    append(Stage::kScored, evaluation.variant, Json{{"score", Json::parse(score_json(*evaluation.score))}}.dump(), {});
  }
}

void AttemptLog::closed(const Attempt& attempt) {
  append(Stage::kClosed, 0, attempt_json(attempt), {{"source", attempt.source}});
}

std::vector<Attempt> attempts_of(const Ledger& ledger) {
  std::vector<Attempt> attempts;
  for (AttemptId id{1}; id <= ledger.last_attempt(); ++id.value) {
    const AttemptRecords records = read_attempt(ledger, id);
    Attempt attempt = records.closed.value_or(Attempt{});
    attempt.id = id;
    attempt.role = records.proposal.role;
    attempt.ordinal = records.ordinal;
    attempt.parent = records.proposal.parent;
    attempt.direction = records.proposal.direction;
    attempts.push_back(std::move(attempt));
  }
  return attempts;
}

// ---- run-wide ---------------------------------------------------------------------------------------------------

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
    OrErrors<std::vector<Lesson>> lessons = lessons_from_jsonl(blob_of(ledger, record, json, "lessons"), "lessons");
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
    start.utc = json.value("utc", "");
    start.spec_json = blob_of(ledger, record, json, "spec");
    for (const std::string& name : json.value("blobs", std::vector<std::string>{})) {
      if (name.starts_with(kFilePrefix)) {
        start.spec_files[name.substr(kFilePrefix.size())] = blob_of(ledger, record, json, name);
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
                      {"screen_cases", settings.screen_cases},
                      {"max_variants", settings.max_variants},
                      {"margin", settings.margin}};
  json["versions"] = {{"compiler", factory.compiler->version()}, {"model", factory.writer->description()}};
  json["device"] = Json::parse(device_facts_json(factory.facts));
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
      round.reply = ours ? std::optional(blob_of(ledger, record, json, "reply")) : std::nullopt;
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

Usage operator+(const Usage& a, const Usage& b) {
  Usage sum;
  sum.input_tokens = plus(a.input_tokens, b.input_tokens);
  sum.cached_tokens = plus(a.cached_tokens, b.cached_tokens);
  sum.output_tokens = plus(a.output_tokens, b.output_tokens);
  sum.reasoning_tokens = plus(a.reasoning_tokens, b.reasoning_tokens);
  sum.estimated_input_tokens = a.estimated_input_tokens + b.estimated_input_tokens;
  sum.estimated_output_tokens = a.estimated_output_tokens + b.estimated_output_tokens;
  sum.cost_nanodollars = plus(a.cost_nanodollars, b.cost_nanodollars);
  sum.raw_json = b.raw_json.empty() ? a.raw_json : b.raw_json;
  return sum;
}

std::int64_t tokens_of(const Usage& usage) {
  return usage.input_tokens.value_or(usage.estimated_input_tokens) +
         usage.output_tokens.value_or(usage.estimated_output_tokens);
}

}  // namespace kf
