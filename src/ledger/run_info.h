// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include <kfactory/attempt.h>
#include <kfactory/device_facts.h>
#include <kfactory/digest.h>
#include <kfactory/error.h>
#include <kfactory/factory.h>
#include <kfactory/ledger.h>
#include <kfactory/seed.h>

namespace kf {

// What run.json says (docs/formats/run-folder.md). Nothing in it is secret.
struct RunInfo {
  std::string spec_name;
  Digest spec_sha256;             // of the spec's JSON
  std::string started;            // UTC, "2026-11-30T12:38:35Z"
  std::string version, compiler;  // "0.1.0", "NVRTC 13.0"
  Map<std::string> models;        // role -> Model::description()
  RunSettings settings;           // `secret` is neither written nor read
  DeviceFacts device;
  Digest seeds;  // seeds_digest(secret): which seeds, without telling them
};

// A commitment to the run's secret, and so to every seed of the run: it can be checked by who holds the ledger, and
// tells nothing to who does not.
Digest seeds_digest(const RunSecret& secret);

std::string run_json(const RunInfo& info);
OrError<RunInfo> run_info_from_json(std::string_view json);

// evidence.json of one winner: what was measured, how, where, and the verdict that it rests on.
std::string evidence_json(const RunInfo& info, const Attempt& winner, std::span<const Attempt> attempts);

// The names of a record's blobs, in their order (the key "blobs" of its JSON); empty when it has none.
std::vector<std::string> blob_names(const Record& record);

}  // namespace kf
