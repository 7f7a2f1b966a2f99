// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>
#include <vector>

#include <kfactory/clock.h>
#include <kfactory/model.h>

#include "cli/commands.h"
#include "model/config.h"

namespace kf {

// What the flags and settings of a run say about its model; for a role, pass Settings::for_role. UsageError for what
// validate() refuses.
ModelConfig model_config(const Options& options, const Settings& settings);

// Which model answers which role: "" is everybody's, then those of the roles that have their own. --replay and
// --exchange answer for all.
Map<ModelConfig> model_configs(const Options& options, const Settings& settings);

// Environment variables that hold secrets: keys, and headers whose value is taken from a variable; of every role.
std::vector<std::string> secret_variables(const Settings& settings);

// Attempts that a transcript has replies for, so that a replay asks for no more than was recorded.
std::int64_t recorded_proposals(const std::string& transcript);

// A model for each config; with --record, what they answer goes into one transcript too.
Map<std::unique_ptr<Model>> open_models(const Options& options, const Map<ModelConfig>& configs, Clock& clock,
                                        Endpoints& endpoints, const ModelHooks& hooks);

}  // namespace kf
