// SPDX-License-Identifier: Apache-2.0
#include "ledger/run_info.h"

#include <nlohmann/json.hpp>

#include "format/attempt_json.h"
#include "format/outcome_json.h"

namespace kf {
namespace {

using Json = nlohmann::ordered_json;
constexpr int kIndent = 1;
constexpr const char* kHint = "run.json is rebuilt from the ledger by `kfactory run --resume`";

std::string dump(const Json& json) {
  return json.dump(kIndent, ' ', false, Json::error_handler_t::replace) + "\n";
}

struct Setting {
  const char* name;
  std::int64_t (*get)(const RunSettings&);
  void (*set)(RunSettings&, std::int64_t);
};
#define KF_SETTING(name, member)                                                                      \
  Setting {                                                                                           \
    name, [](const RunSettings& s) -> std::int64_t { return s.member; },                              \
        [](RunSettings& s, std::int64_t value) { s.member = static_cast<decltype(s.member)>(value); } \
  }
constexpr Setting kSettings[] = {
    KF_SETTING("attempts", budget.attempts),
    {"wall_ms", [](const RunSettings& s) -> std::int64_t { return s.budget.wall.count(); },
     [](RunSettings& s, std::int64_t value) { s.budget.wall = std::chrono::milliseconds(value); }},
    KF_SETTING("tokens", budget.tokens),
    KF_SETTING("cost_nanodollars", budget.cost_nanodollars),
    KF_SETTING("in_flight", search.in_flight),
    KF_SETTING("max_repairs", search.max_repairs),
    KF_SETTING("stagnation", search.stagnation),
    KF_SETTING("max_output_tokens", search.max_output_tokens),
    KF_SETTING("prompt_bytes", search.prompt_bytes),
    KF_SETTING("compile_jobs", compile_jobs),
    KF_SETTING("screen_cases", screen_cases),
    KF_SETTING("max_variants", max_variants),
    KF_SETTING("confirmed_attempts", confirmed_attempts),
};
#undef KF_SETTING

Json settings_of(const RunSettings& settings) {
  Json json;
  for (const Setting& setting : kSettings) {
    json[setting.name] = setting.get(settings);
  }
  json["margin"] = settings.margin;
  return json;
}

Json interval(const Interval& of) {
  return of.samples == 0 ? Json()
                         : Json{{"median", of.median}, {"low", of.low}, {"high", of.high}, {"samples", of.samples}};
}

// By the field's names, and what follows from them; null where none were taken.
Json counters(const CaseScore& score) {
  if (score.counters.empty()) {
    return Json();
  }
  Json all = score.counters;
  const auto value = [&](std::initializer_list<const char*> names) {
    for (const char* name : names) {
      if (const auto found = score.counters.find(name); found != score.counters.end()) {
        return found->second;
      }
    }
    return 0.0;
  };
  const double bytes = value({"dram__bytes_read.sum", "dram__bytes_op_read.sum"}) +
                       value({"dram__bytes_write.sum", "dram__bytes_op_write.sum"});
  if (const double nanoseconds = value({"gpu__time_duration.sum"}); nanoseconds > 0 && bytes > 0) {
    all["achieved_bytes_per_second"] = 1e9 * bytes / nanoseconds;
  }
  if (const double requests = value({"l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"}); requests > 0) {
    all["load_sectors_per_request"] = value({"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"}) / requests;
  }
  return all;
}

// What the four tools said; null where a confirmation did not ask them.
Json sanitizer(const Score& score) {
  if (!score.sanitizer) {
    return Json();
  }
  Json tools = Json::array();
  for (const ToolRun& run : score.sanitizer->tools) {
    tools.push_back({{"tool", run.tool},
                     {"version", run.version},
                     {"ran", run.ran},
                     {"errors", run.errors},
                     {"warnings", run.warnings},
                     {"text", run.text}});
  }
  return {{"not_run", score.sanitizer->not_run}, {"tools", std::move(tools)}};
}

Json case_of(const Score& whole, const CaseScore& score) {
  return {{"case", score.case_id},
          {"in_speedup", counts_in(whole, score) && score.to_baseline.samples > 0},
          {"scaled_from", score.scaled_from.empty() ? Json() : Json(score.scaled_from)},
          {"candidate_ns", interval(score.candidate)},
          {"baseline", score.baseline_name},
          {"baseline_ns", interval(score.baseline)},
          {"copy_ns", interval(score.copy)},
          {"kernel_records_ns",
           {{"candidate", interval(score.candidate_records)},
            {"baseline", interval(score.baseline_records)},
            {"copy", interval(score.copy_records)}}},
          {"candidate_over_baseline", interval(score.to_baseline)},
          {"against_baseline", to_string(score.against_baseline)},
          {"floor_ns", score.floor_nanoseconds > 0 ? Json(score.floor_nanoseconds) : Json()},
          {"suspect", score.suspect},
          {"counters", counters(score)},
          {"notes", score.notes}};
}

constexpr const char* kCacheStates[] = {"cold", "steady", "warm"};

Json measured(const RunInfo& info, const Score& score) {
  Json cases = Json::array();
  for (const CaseScore& of : score.cases) {
    cases.push_back(case_of(score, of));
  }
  const bool estimate = score.method == ClockMethod::kEstimate;
  return {{"label", estimate ? "estimate" : "measured"},
          {"clock", to_string(score.method)},
          {"cache_state", kCacheStates[static_cast<int>(score.state)]},
          {"device", info.device.name},
          {"device_uuid", info.device.uuid},
          {"arch", info.device.arch},
          {"driver", info.device.driver},
          {"speedup", score.speedup},
          {"aggregate", "geomean of baseline / candidate over the cases in_speedup"},
          {"cases_in_speedup", cases_in_speedup(score)},
          {"against_baseline", to_string(score.against_baseline)},
          {"confirmed", score.confirmed},
          {"interval", "95 %"},
          {"margin", info.settings.margin},
          {"counters_refused", score.counters_refused},
          {"compute_sanitizer", sanitizer(score)},
          {"emulator", score.emulator},
          {"cases", std::move(cases)}};
}

// How the run's attempts ended, so that a winner among three is told from one among three hundred.
Json counts(std::span<const Attempt> attempts) {
  Map<std::int64_t> states;
  Map<std::int64_t> rejected;
  for (const Attempt& attempt : attempts) {
    ++states[std::string(to_string(attempt.state))];
    if (attempt.state == AttemptState::kRejected) {
      ++rejected[std::string(to_string(attempt.verdict.gate))];
    }
  }
  return {{"attempts", attempts.size()}, {"states", states}, {"rejected_by", rejected}};
}

}  // namespace

Digest seeds_digest(const RunSecret& secret) {
  std::string text = "kfactory seeds 1|";
  text.append(reinterpret_cast<const char*>(secret.bytes.data()), secret.bytes.size());
  return sha256(text);
}

std::string run_json(const RunInfo& info) {
  return dump({{"kfactory_run", 1},
               {"started", info.started},
               {"spec", {{"name", info.spec_name}, {"sha256", to_hex(info.spec_sha256)}}},
               {"versions", {{"kfactory", info.version}, {"compiler", info.compiler}}},
               {"models", info.models},
               {"settings", settings_of(info.settings)},
               {"seeds_sha256", to_hex(info.seeds)},
               {"device", Json::parse(device_facts_json(info.device))}});
}

OrError<RunInfo> run_info_from_json(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) {
    return std::unexpected(Error{"run.json", "not JSON", kHint});
  }
  try {
    if (json.at("kfactory_run") != 1) {
      return std::unexpected(Error{"run.json: $.kfactory_run",
                                   "this kfactory reads version 1, found " + json.at("kfactory_run").dump(), ""});
    }
    RunInfo info;
    info.started = json.at("started").get<std::string>();
    info.spec_name = json.at("spec").at("name").get<std::string>();
    info.version = json.at("versions").at("kfactory").get<std::string>();
    info.compiler = json.at("versions").at("compiler").get<std::string>();
    info.models = json.at("models").get<Map<std::string>>();
    const Json& settings = json.at("settings");
    for (const Setting& setting : kSettings) {
      setting.set(info.settings, settings.at(setting.name).get<std::int64_t>());
    }
    info.settings.margin = settings.at("margin").get<double>();
    const OrError<Digest> spec = digest_from_hex(json.at("spec").at("sha256").get<std::string>());
    const OrError<Digest> seeds = digest_from_hex(json.at("seeds_sha256").get<std::string>());
    const OrError<DeviceFacts> device = device_facts_from_json(json.at("device").dump());
    if (!spec || !seeds || !device) {
      const Error& error = !spec ? spec.error() : !seeds ? seeds.error() : device.error();
      return std::unexpected(Error{"run.json", to_string(error), kHint});
    }
    info.spec_sha256 = *spec;
    info.seeds = *seeds;
    info.device = *device;
    return info;
  } catch (const Json::exception& fault) {
    return std::unexpected(Error{"run.json", fault.what(), kHint});
  }
}

std::string evidence_json(const RunInfo& info, const Attempt& winner, std::span<const Attempt> attempts) {
  return dump({{"kfactory_evidence", 1},
               {"spec", {{"name", info.spec_name}, {"sha256", to_hex(info.spec_sha256)}}},
               {"kernel",
                {{"attempt", winner.id.value},
                 {"source_sha256", to_hex(sha256(winning_source(winner)))},
                 {"ptx_hash", winner.source_hash},
                 {"hypothesis", winner.hypothesis},
                 {"tune", winner.tune},
                 {"variants_tried", winner.variants},
                 {"kernels", Json::parse(kernels_json(winner.kernels))}}},
               {"verdict",
                {{"passed", winner.verdict.passed},
                 {"last_gate", to_string(winner.verdict.gate)},
                 {"launches_compared", winner.verdict.checks},
                 {"checked", winner.checked.empty() ? Json() : Json::parse(checked_json(winner.checked))},
                 {"seeds_sha256", to_hex(info.seeds)}}},
               {"measurement", winner.score ? measured(info, *winner.score) : Json()},
               {"run", counts(attempts)},
               {"versions", {{"kfactory", info.version}, {"compiler", info.compiler}}}});
}

std::vector<std::string> blob_names(const Record& record) {
  const Json json = Json::parse(record.json, nullptr, false);
  std::vector<std::string> names;
  if (json.is_object() && json.contains("blobs") && json["blobs"].is_array()) {
    for (const Json& name : json["blobs"]) {
      names.push_back(name.is_string() ? name.get<std::string>() : "");
    }
  }
  return names;
}

}  // namespace kf
