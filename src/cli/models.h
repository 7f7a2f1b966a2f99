// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>

#include <kfactory/clock.h>
#include <kfactory/model.h>

#include "cli/commands.h"
#include "model/config.h"

namespace kf {

// What the flags and settings of a run say about its model. UsageError for what validate() refuses.
ModelConfig model_config(const Options& options, const Settings& settings);

// Attempts that a transcript has replies for, so that a replay asks for no more than was recorded.
std::int64_t recorded_proposals(const std::string& transcript);

// The model of a run; with --record, what it answers goes into that transcript too.
std::unique_ptr<Model> open_model(const Options& options, const ModelConfig& config, Clock& clock, Endpoints& endpoints,
                                  ModelHooks hooks);

}  // namespace kf
