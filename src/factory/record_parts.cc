// SPDX-License-Identifier: Apache-2.0
#include "record_parts.h"

#include <nlohmann/json.hpp>

#include "format/attempt_json.h"

namespace kf {
namespace {

using Json = nlohmann::ordered_json;

Json usage_of(const Usage& usage) {
  return Json::parse(usage_json(usage));
}

}  // namespace

Fatal unreadable_record(const Record& record, const std::string& why) {
  return Fatal("record " + std::to_string(record.sequence) + " (" + std::string(to_string(record.stage)) +
               ", attempt " + std::to_string(record.of.attempt.value) + ") of the ledger cannot be read: " + why);
}

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json json_of(const Record& record) {
  Json json = Json::parse(record.json, nullptr, false);
  if (!json.is_object()) {
    throw unreadable_record(record, "not a JSON object");
  }
  return json;
}

std::string blob_of(const Ledger& ledger, const Record& record, std::string_view name) {
  const Json names = json_of(record).value("blobs", Json::array());
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

}  // namespace kf
