// SPDX-License-Identifier: Apache-2.0
#include "format/attempt_json.h"

#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include <kfactory/digest.h>

namespace kf {
namespace {

using Json = nlohmann::ordered_json;

// Only for these files of our own: a fault in them is one message, not a list.
struct Unreadable {
  std::string where, what;
};

Json number(double value) {
  if (std::isfinite(value)) {
    return value;
  }
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

// A value with the path by which it was reached.
class Field {
 public:
  Field(const Json& json, std::string path) : json_(&json), path_(std::move(path)) {}

  Field operator[](const char* key) const {
    if (!json_->is_object()) {
      throw Unreadable{path_, "expected an object, found " + std::string(json_->type_name())};
    }
    const auto found = json_->find(key);
    if (found == json_->end()) {
      throw Unreadable{path_, "the key \"" + std::string(key) + "\" is missing"};
    }
    return {*found, path_ + "." + key};
  }
  bool has(const char* key) const { return json_->is_object() && json_->contains(key) && !(*json_)[key].is_null(); }

  std::string text() const { return as<std::string>(json_->is_string(), "a text"); }
  bool flag() const { return as<bool>(json_->is_boolean(), "true or false"); }
  template <class T = std::int64_t>
  T integer() const {
    const auto value = as<std::int64_t>(json_->is_number_integer(), "an integer");
    if constexpr (sizeof(T) < sizeof value) {
      if (value < std::numeric_limits<T>::min() || value > std::numeric_limits<T>::max()) {
        throw Unreadable{path_, "the number " + std::to_string(value) + " is out of range"};
      }
    }
    return static_cast<T>(value);
  }
  double real() const {
    if (json_->is_string()) {
      const auto word = json_->get<std::string>();
      constexpr double kInfinity = std::numeric_limits<double>::infinity();
      if (word == "inf" || word == "-inf" || word == "nan") {
        return word == "inf" ? kInfinity : word == "-inf" ? -kInfinity : std::numeric_limits<double>::quiet_NaN();
      }
    }
    return as<double>(json_->is_number(), "a number");
  }
  template <class E>
  E word(int count) const {
    const std::string name = text();
    std::string allowed;
    for (int i = 0; i < count; ++i) {
      if (to_string(static_cast<E>(i)) == name) {
        return static_cast<E>(i);
      }
      allowed += (i == 0 ? "" : ", ") + std::string(to_string(static_cast<E>(i)));
    }
    throw Unreadable{path_, "found \"" + name + "\", allowed: " + allowed};
  }
  template <class Read>
  auto list(Read read) const {
    std::vector<decltype(read(*this))> values;
    if (!json_->is_array()) {
      throw Unreadable{path_, "expected a list, found " + std::string(json_->type_name())};
    }
    for (std::size_t i = 0; i < json_->size(); ++i) {
      values.push_back(read(Field((*json_)[i], path_ + "[" + std::to_string(i) + "]")));
    }
    return values;
  }
  const Json& json() const { return *json_; }
  const std::string& path() const { return path_; }

 private:
  template <class T>
  T as(bool fits, const char* what) const {
    if (!fits) {
      throw Unreadable{path_, "expected " + std::string(what) + ", found " + json_->type_name()};
    }
    return json_->get<T>();
  }
  const Json* json_;
  std::string path_;
};

std::string text_of(const Field& field) {
  return field.text();
}
std::int64_t integer_of(const Field& field) {
  return field.integer();
}

// Texts of models and compilers may hold anything; invalid UTF-8 becomes U+FFFD instead of an exception.
std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

template <class Read>
auto parse(std::string_view text, const char* name, Read read) -> OrError<decltype(read(std::declval<Field>()))> {
  constexpr const char* kHint = "it was damaged, or written by another version of kfactory";
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) {
    return std::unexpected(Error{name, "not JSON", kHint});
  }
  try {
    return read(Field(json, name));
  } catch (const Unreadable& fault) {
    return std::unexpected(Error{fault.where, fault.what, kHint});
  }
}

constexpr int kMethods = 5, kComparisons = 5, kStates = 5, kGates = 12, kCacheStates = 3;
constexpr std::array<const char*, kCacheStates> kCacheWords{"cold", "steady", "warm"};

CacheState cache_state(const Field& field) {
  const std::string name = field.text();
  for (int i = 0; i < kCacheStates; ++i) {
    if (name == kCacheWords[static_cast<std::size_t>(i)]) {
      return static_cast<CacheState>(i);
    }
  }
  throw Unreadable{field.path(), "found \"" + name + "\", allowed: cold, steady, warm"};
}

Json encode(const Interval& interval) {
  return {{"median", number(interval.median)},
          {"low", number(interval.low)},
          {"high", number(interval.high)},
          {"samples", interval.samples}};
}
Interval interval_of(const Field& field) {
  return {field["median"].real(), field["low"].real(), field["high"].real(), field["samples"].integer()};
}

Json encode(const CaseScore& score) {
  return {{"case", score.case_id},
          {"candidate", encode(score.candidate)},
          {"baseline", encode(score.baseline)},
          {"champion", encode(score.champion)},
          {"copy", encode(score.copy)},
          {"baseline_name", score.baseline_name},
          {"to_baseline", encode(score.to_baseline)},
          {"to_champion", encode(score.to_champion)},
          {"against_baseline", to_string(score.against_baseline)},
          {"against_champion", to_string(score.against_champion)},
          {"floor_nanoseconds", number(score.floor_nanoseconds)},
          {"notes", score.notes}};
}
CaseScore case_score_of(const Field& field) {
  CaseScore score;
  score.case_id = field["case"].text();
  score.candidate = interval_of(field["candidate"]);
  score.baseline = interval_of(field["baseline"]);
  score.champion = interval_of(field["champion"]);
  score.copy = interval_of(field["copy"]);
  score.baseline_name = field["baseline_name"].text();
  score.to_baseline = interval_of(field["to_baseline"]);
  score.to_champion = interval_of(field["to_champion"]);
  score.against_baseline = field["against_baseline"].word<Comparison>(kComparisons);
  score.against_champion = field["against_champion"].word<Comparison>(kComparisons);
  score.floor_nanoseconds = field["floor_nanoseconds"].real();
  score.notes = field["notes"].list(text_of);
  return score;
}

Json encode(const Score& score) {
  Json cases = Json::array();
  for (const CaseScore& of : score.cases) {
    cases.push_back(encode(of));
  }
  return {{"method", to_string(score.method)},
          {"state", kCacheWords.at(static_cast<std::size_t>(score.state))},
          {"speedup", number(score.speedup)},
          {"speedup_over_champion", number(score.speedup_over_champion)},
          {"against_baseline", to_string(score.against_baseline)},
          {"against_champion", to_string(score.against_champion)},
          {"confirmed", score.confirmed},
          {"cases", std::move(cases)}};
}
Score score_of(const Field& field) {
  Score score;
  score.method = field["method"].word<ClockMethod>(kMethods);
  score.state = cache_state(field["state"]);
  score.speedup = field["speedup"].real();
  score.speedup_over_champion = field["speedup_over_champion"].real();
  score.against_baseline = field["against_baseline"].word<Comparison>(kComparisons);
  score.against_champion = field["against_champion"].word<Comparison>(kComparisons);
  score.confirmed = field["confirmed"].flag();
  score.cases = field["cases"].list(case_score_of);
  return score;
}

constexpr std::array<std::pair<const char*, std::optional<std::int64_t> Usage::*>, 5> kCounts{{
    {"input_tokens", &Usage::input_tokens},
    {"cached_tokens", &Usage::cached_tokens},
    {"output_tokens", &Usage::output_tokens},
    {"reasoning_tokens", &Usage::reasoning_tokens},
    {"cost_nanodollars", &Usage::cost_nanodollars},
}};

Json encode(const Usage& usage) {
  Json json = Json::object();
  for (const auto& [key, member] : kCounts) {  // absent: the server did not say
    if (usage.*member) {
      json[key] = *(usage.*member);
    }
  }
  json["estimated_input_tokens"] = usage.estimated_input_tokens;
  json["estimated_output_tokens"] = usage.estimated_output_tokens;
  json["raw"] = usage.raw_json;
  return json;
}
Usage usage_of(const Field& field) {
  Usage usage;
  for (const auto& [key, member] : kCounts) {
    if (field.has(key)) {
      usage.*member = field[key].integer();
    }
  }
  usage.estimated_input_tokens = field["estimated_input_tokens"].integer();
  usage.estimated_output_tokens = field["estimated_output_tokens"].integer();
  usage.raw_json = field["raw"].text();
  return usage;
}

Json encode(const std::vector<KernelUse>& kernels) {
  Json list = Json::array();
  for (const KernelUse& use : kernels) {
    list.push_back({{"entry", use.entry},
                    {"registers", use.registers},
                    {"spill_store_bytes", use.spill_store_bytes},
                    {"spill_load_bytes", use.spill_load_bytes},
                    {"stack_bytes", use.stack_bytes},
                    {"barriers", use.barriers},
                    {"static_shared_bytes", use.static_shared_bytes},
                    {"max_threads", use.max_threads}});
  }
  return list;
}
KernelUse kernel_of(const Field& field) {
  KernelUse use;
  use.entry = field["entry"].text();
  use.registers = field["registers"].integer<int>();
  use.spill_store_bytes = field["spill_store_bytes"].integer<int>();
  use.spill_load_bytes = field["spill_load_bytes"].integer<int>();
  use.stack_bytes = field["stack_bytes"].integer<int>();
  use.barriers = field["barriers"].integer<int>();
  use.static_shared_bytes = field["static_shared_bytes"].integer();
  use.max_threads = field["max_threads"].integer<int>();
  return use;
}

Json encode(const Mismatch& m) {
  return {{"output", m.output},
          {"elements", m.elements},
          {"wrong", m.wrong},
          {"unwritten", m.unwritten},
          {"class_errors", m.class_errors},
          {"worst_index", m.worst_index},
          {"worst_out", number(m.worst_out)},
          {"worst_ref", number(m.worst_ref)},
          {"worst_bound", number(m.worst_bound)},
          {"worst_ratio", number(m.worst_ratio)},
          {"first_index", m.first_index},
          {"last_index", m.last_index},
          {"wrong_rows", m.wrong_rows},
          {"rows", m.rows},
          {"wrong_columns", m.wrong_columns},
          {"columns", m.columns},
          {"shape", m.shape}};
}
Mismatch mismatch_of(const Field& field) {
  Mismatch m;
  m.output = field["output"].text();
  m.elements = field["elements"].integer();
  m.wrong = field["wrong"].integer();
  m.unwritten = field["unwritten"].integer();
  m.class_errors = field["class_errors"].integer();
  m.worst_index = field["worst_index"].list(integer_of);
  m.worst_out = field["worst_out"].real();
  m.worst_ref = field["worst_ref"].real();
  m.worst_bound = field["worst_bound"].real();
  m.worst_ratio = field["worst_ratio"].real();
  m.first_index = field["first_index"].list(integer_of);
  m.last_index = field["last_index"].list(integer_of);
  m.wrong_rows = field["wrong_rows"].integer();
  m.rows = field["rows"].integer();
  m.wrong_columns = field["wrong_columns"].integer();
  m.columns = field["columns"].integer();
  m.shape = field["shape"].text();
  return m;
}

Json encode(const Verdict& verdict) {
  Json json{{"passed", verdict.passed},   {"gate", to_string(verdict.gate)}, {"reason", verdict.reason},
            {"message", verdict.message}, {"case", verdict.case_id},         {"family", verdict.family},
            {"checks", verdict.checks}};
  if (verdict.mismatch) {
    json["mismatch"] = encode(*verdict.mismatch);
  }
  return json;
}
Verdict verdict_of(const Field& field) {
  Verdict verdict;
  verdict.passed = field["passed"].flag();
  verdict.gate = field["gate"].word<Gate>(kGates);
  verdict.reason = field["reason"].text();
  verdict.message = field["message"].text();
  verdict.case_id = field["case"].text();
  verdict.family = field["family"].text();
  verdict.checks = field["checks"].integer();
  if (field.has("mismatch")) {
    verdict.mismatch = mismatch_of(field["mismatch"]);
  }
  return verdict;
}

Assignment assignment_of(const Field& field) {
  Assignment tune;
  if (!field.json().is_object()) {
    throw Unreadable{field.path(), "expected an object, found " + std::string(field.json().type_name())};
  }
  for (const auto& [name, value] : field.json().items()) {
    tune[name] = Field(value, field.path() + "." + name).integer();
  }
  return tune;
}

Attempt attempt_of(const Field& field) {
  Attempt attempt;
  attempt.id.value = field["attempt"].integer();
  attempt.role = field["role"].word<Role>(5);
  attempt.ordinal = static_cast<std::uint64_t>(field["ordinal"].integer());
  if (field.has("parent")) {
    attempt.parent = AttemptId{field["parent"].integer()};
  }
  attempt.direction = field["direction"].text();
  attempt.state = field["state"].word<AttemptState>(kStates);
  attempt.hypothesis = field["hypothesis"].text();
  attempt.plan_json = field["plan"].text();
  attempt.source_hash = field["source_hash"].text();
  attempt.kernels = field["kernels"].list(kernel_of);
  attempt.tune = assignment_of(field["tune"]);
  attempt.variants = field["variants"].integer<std::int32_t>();
  attempt.verdict = verdict_of(field["verdict"]);
  if (field.has("score")) {
    attempt.score = score_of(field["score"]);
  }
  attempt.usage = usage_of(field["usage"]);
  attempt.duration = std::chrono::milliseconds(field["duration_ms"].integer());
  return attempt;
}

}  // namespace

std::string score_json(const Score& score) {
  return dump(encode(score));
}
OrError<Score> score_from_json(std::string_view json) {
  return parse(json, "score", score_of);
}

std::string usage_json(const Usage& usage) {
  return dump(encode(usage));
}
OrError<Usage> usage_from_json(std::string_view json) {
  return parse(json, "usage", usage_of);
}

std::string kernels_json(const std::vector<KernelUse>& kernels) {
  return dump(encode(kernels));
}
OrError<std::vector<KernelUse>> kernels_from_json(std::string_view json) {
  return parse(json, "kernels", [](const Field& field) { return field.list(kernel_of); });
}

std::string attempt_verdict_json(const Verdict& verdict) {
  return dump(encode(verdict));
}

std::string attempt_json(const Attempt& attempt) {
  Json json{{"attempt", attempt.id.value},
            {"role", to_string(attempt.role)},
            {"ordinal", attempt.ordinal},
            {"parent", attempt.parent ? Json(attempt.parent->value) : Json()},
            {"direction", attempt.direction},
            {"state", to_string(attempt.state)},
            {"hypothesis", attempt.hypothesis},
            {"plan", attempt.plan_json},
            {"source_sha256", attempt.source.empty() ? "" : to_hex(sha256(attempt.source))},
            {"source_hash", attempt.source_hash},
            {"kernels", encode(attempt.kernels)},
            {"tune", attempt.tune},
            {"variants", attempt.variants},
            {"verdict", encode(attempt.verdict)},
            {"usage", encode(attempt.usage)},
            {"duration_ms", attempt.duration.count()}};
  if (attempt.score) {
    json["score"] = encode(*attempt.score);
  }
  return dump(json);
}
OrError<Attempt> attempt_from_json(std::string_view json) {
  return parse(json, "attempt", attempt_of);
}

}  // namespace kf
