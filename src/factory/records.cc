// SPDX-License-Identifier: Apache-2.0
// Records of attempts.
#include "records.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include <kfactory/audit.h>

#include "format/attempt_json.h"
#include "format/outcome_json.h"
#include "record_parts.h"

namespace kf {
namespace {

using Json = nlohmann::ordered_json;

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
    for (int kind = 0; kind <= static_cast<int>(ModelError::Kind::kBudget); ++kind) {
      if (to_string(static_cast<ModelError::Kind>(kind)) == found->value("kind", "")) {
        error.kind = static_cast<ModelError::Kind>(kind);
      }
    }
    return std::unexpected(std::move(error));
  }
  Reply reply;
  reply.text = blob_of(ledger, record, "reply");
  reply.model = json.value("model", "");
  reply.usage = usage();
  return reply;
}

ModelCall read_call(const Ledger& ledger, const Record& record) {
  const Json json = json_of(record);
  ModelCall call;
  call.role = role_from_string(json.value("role", "")).value_or(Role::kWriter);
  call.ordinal = json.value("ordinal", std::uint64_t{0});
  call.system = blob_of(ledger, record, "system");
  call.prefix = blob_of(ledger, record, "prefix");
  call.prompt = blob_of(ledger, record, "prompt");
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

}  // namespace

std::string opened_json(const Proposal& proposal, const ModelCall& call) {
  Json json = proposal_json(proposal, call.ordinal);
  json["max_output_tokens"] = call.max_output_tokens;
  json["blobs"] = {"system", "prefix", "prompt"};  // which the ledger puts beside it
  return text_of(json);
}

namespace {

// What an attempt that is closed is known by.
void read_closed(const Ledger& ledger, AttemptRecords& records) {
  const auto opened = std::ranges::find(records.all, Stage::kOpened, &Record::stage);
  if (opened != records.all.end()) {
    const Json json = json_of(*opened);
    records.proposal = read_proposal(json);
    records.ordinal = json.value("ordinal", std::uint64_t{0});
  }
  const Record& closed = *std::ranges::find(records.all.rbegin(), records.all.rend(), Stage::kClosed, &Record::stage);
  records.closed = read_or_throw(closed, attempt_from_json(closed.json));
  records.closed->source = blob_of(ledger, closed, "source");
}

// Everything that an attempt under way needs to go on.
void read_open(const Ledger& ledger, AttemptRecords& records) {
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
        records.measurement = read_or_throw(record, measurement_from_json(blob_of(ledger, record, "measurement")));
        break;
      case Stage::kVerdict:
        records.verdict = read_or_throw(record, verdict_from_json(json_of(record).at("verdict").dump()));
        break;
      default:
        break;
    }
  }
}

}  // namespace

AttemptRecords read_attempt(const Ledger& ledger, AttemptId id) {
  AttemptRecords records;
  records.id = id;
  records.all = ledger.read(id, id);
  const bool closed = std::ranges::find(records.all, Stage::kClosed, &Record::stage) != records.all.end();
  closed ? read_closed(ledger, records) : read_open(ledger, records);
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
    Json json{{"case", std::move(cases)}};
    if (!evaluation.measurement->cases.empty()) {
      json["method"] = to_string(evaluation.measurement->cases.front().method);
    }
    append(Stage::kMeasured, evaluation.variant, json.dump(),
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
    AttemptRecords records = read_attempt(ledger, id);
    Attempt attempt = records.closed ? std::move(*records.closed) : Attempt{};
    attempt.id = id;
    attempt.role = records.proposal.role;
    attempt.ordinal = records.ordinal;
    attempt.parent = records.proposal.parent;
    attempt.direction = records.proposal.direction;
    attempts.push_back(std::move(attempt));
  }
  return attempts;
}

}  // namespace kf
