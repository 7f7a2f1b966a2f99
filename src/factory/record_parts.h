// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <expected>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <kfactory/error.h>
#include <kfactory/ledger.h>
#include <kfactory/model.h>

// What records of attempts (records.cc) and of the run (run_records.cc) are made of.

namespace kf {

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

// "record 17 (verdict, attempt 3) of the ledger cannot be read: why".
Fatal unreadable_record(const Record& record, const std::string& why);

template <class T>
T read_or_throw(const Record& record, OrError<T> value) {
  if (!value) {
    throw unreadable_record(record, to_string(value.error()));
  }
  return std::move(*value);
}

// Texts of models and servers are quoted in records: bytes that are no UTF-8 become U+FFFD, and do not end the run.
std::string text_of(const nlohmann::ordered_json& json);
// The record's object. Throws Fatal.
nlohmann::ordered_json json_of(const Record& record);

// The blob that the record calls `name`; empty when it has none. Throws Fatal when the ledger lacks it.
std::string blob_of(const Ledger& ledger, const Record& record, std::string_view name);

// The fields of a stage "replied", without its blobs.
nlohmann::ordered_json reply_json(const std::expected<Reply, ModelError>& reply);

}  // namespace kf
