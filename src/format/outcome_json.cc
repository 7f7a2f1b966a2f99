// SPDX-License-Identifier: Apache-2.0
#include "format/outcome_json.h"

#include "format/fields.h"

namespace kf {
namespace {

constexpr std::array<std::string_view, std::variant_size_v<Outcome>> kAlternatives{
    "device", "check", "time", "admission", "profile", "sanitizer", "fault"};

template <std::size_t Index = 0>
bool read_alternative(JsonReader& reader, Outcome& outcome) {
  if constexpr (Index == std::variant_size_v<Outcome>) {
    return false;
  } else {
    std::optional<std::variant_alternative_t<Index, Outcome>> value;
    reader(kAlternatives[Index], value);
    if (value) {
      outcome = *std::move(value);
      return true;
    }
    return read_alternative<Index + 1>(reader, outcome);
  }
}

}  // namespace

Encoded encode_outcome(const Outcome& outcome) {
  return encode_with([&](JsonWriter& writer) {
    std::visit([&](const auto& value) { writer(kAlternatives[outcome.index()], value); }, outcome);
  });
}

OrError<Outcome> decode_outcome(std::string_view json, std::span<const std::byte> blob) {
  Outcome outcome;
  bool named = false;
  auto error = decode_with(json, blob, [&](JsonReader& reader) { named = read_alternative(reader, outcome); });
  if (!error && !named) {
    error = Error{"$", "no member named device, check, time, admission, profile, sanitizer or fault", ""};
  }
  if (error) {
    return std::unexpected(*std::move(error));
  }
  return outcome;
}

std::string device_facts_json(const DeviceFacts& facts) {
  return encode_value(facts).json;
}
OrError<DeviceFacts> device_facts_from_json(std::string_view json) {
  return decode_value<DeviceFacts>(json, {});
}
std::string verdict_json(const Verdict& verdict) {
  return encode_value(verdict).json;
}
OrError<Verdict> verdict_from_json(std::string_view json) {
  return decode_value<Verdict>(json, {});
}
std::string measurement_json(const Measurement& measurement) {
  return encode_value(measurement).json;
}
OrError<Measurement> measurement_from_json(std::string_view json) {
  return decode_value<Measurement>(json, {});
}
std::string costs_json(const std::vector<Cost>& costs) {
  return encode_value(costs).json;
}
std::string admission_json(const AdmissionReport& report) {
  return encode_value(report).json;
}

}  // namespace kf
