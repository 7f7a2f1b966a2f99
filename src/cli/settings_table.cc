// SPDX-License-Identifier: Apache-2.0
// The settings there are. Flags only for what people change from run to run.
#include <algorithm>
#include <array>

#include "settings.h"

namespace kf {
namespace {

using Kind = SettingFacts::Kind;

constexpr std::array kSettings{
    SettingFacts{Kind::kCount, "run.attempts", "--attempts", "16", "how many proposals to ask for"},
    SettingFacts{Kind::kTime, "run.wall", "--wall", "0",
                 "wall time of the whole run after which nothing new is asked (90s, 15m, 2h); 0: none"},
    SettingFacts{Kind::kCount, "run.tokens", "--tokens", "0", "input and output tokens to spend; 0: no limit"},
    SettingFacts{Kind::kMoney, "run.cost", "--cost", "0", "dollars to spend, where prices are known; 0: no limit"},
    SettingFacts{Kind::kCount, "run.in_flight", "--in-flight", "4", "proposals under way at once"},
    SettingFacts{Kind::kCount, "run.screen_cases", "--screen-cases", "3",
                 "timed cases that every right candidate is timed on"},
    SettingFacts{Kind::kCount, "run.max_variants", "--max-variants", "16", "tune points tried of one candidate"},
    SettingFacts{Kind::kCount, "run.confirmed_attempts", "--confirm-attempts", "3",
                 "attempts confirmed at the end on all timed cases: the best, then others close to it or ahead"},
    SettingFacts{Kind::kShare, "run.margin", "--margin", "0.005", "share by which a win must be faster"},
    SettingFacts{Kind::kCount, "run.compile_jobs", "--compile-jobs", "0",
                 "compilations at once; 0: as many as there are processors"},
    SettingFacts{Kind::kTime, "run.compile_limit", "", "60s",
                 "processor time that one compilation may take; of wall time ten times as much"},
    SettingFacts{Kind::kDevice, "device.kind", "--device", "auto", "auto, cuda, emulator or none"},
    SettingFacts{Kind::kText, "device.target", "--target", "",
                 "named target for emulator and none (H200, sm_90a); empty: the spec's"},
    SettingFacts{Kind::kCount, "device.emulator_threads", "--emulator-threads", "0",
                 "threads that carry out a launch on the emulator; 0: as many as there are processors"},
    SettingFacts{Kind::kYesNo, "device.emulator_first", "--emulator-first", "true",
                 "beside a GPU: candidates run on the emulator first, on small cases"},
    SettingFacts{Kind::kCount, "device.gpu", "--gpu", "0", "which GPU, as the driver counts them"},
    SettingFacts{Kind::kWords, "device.launcher", "--launcher", "",
                 "put in front of the worker: \"srun -N1\", \"ssh gpu-box\"", true},
    SettingFacts{Kind::kText, "toolkit.root", "--cuda-root", "", "CUDA toolkit folder; empty: searched", true},
    SettingFacts{Kind::kText, "toolkit.build_cache", "", "",
                 "folder in which builds are kept for later runs; empty: none are", true},
    SettingFacts{Kind::kProvider, "model.provider", "--provider", "openai",
                 "openai, anthropic, replay, exchange or command"},
    SettingFacts{Kind::kText, "model.name", "--model", "", "model that answers"},
    SettingFacts{Kind::kText, "model.base_url", "--base-url", "", "endpoint; empty: the provider's own", true},
    SettingFacts{Kind::kText, "model.api_key_env", "--api-key-env", "",
                 "environment variable that holds the key; empty: the provider's usual one", true},
    SettingFacts{Kind::kText, "model.api_key_header", "", "",
                 "header of the key (Azure: api-key); empty: the provider's usual one", true},
    SettingFacts{Kind::kHeaders, "model.extra_headers", "", "",
                 "further headers: \"name: value\", or \"name=VARIABLE\" for a secret", true},
    SettingFacts{Kind::kYesNo, "model.key_over_plain_http", "", "false", "send a key over http:// to another machine",
                 true},
    SettingFacts{Kind::kText, "model.anthropic_version", "", "2026-10-21", "version header of Messages"},
    SettingFacts{Kind::kText, "model.effort", "--effort", "", "reasoning effort to ask for; empty: not sent"},
    SettingFacts{Kind::kNumber, "model.temperature", "--temperature", "", "sampling temperature; empty: not sent"},
    SettingFacts{Kind::kNumber, "model.top_p", "", "", "nucleus sampling; empty: not sent"},
    SettingFacts{Kind::kText, "model.prompt_cache_key", "", "", "openai: key for the prompt cache; empty: not sent"},
    SettingFacts{Kind::kYesNo, "model.cache_prefix", "", "true", "anthropic: mark the task for the prompt cache"},
    SettingFacts{Kind::kYesNo, "model.stream", "", "true", "ask for streamed answers"},
    SettingFacts{Kind::kTime, "model.connect_timeout", "", "30s", "time to connect"},
    SettingFacts{Kind::kTime, "model.idle_timeout", "", "10m", "time without a byte (reasoning models are silent)"},
    SettingFacts{Kind::kTime, "model.total_timeout", "--model-timeout", "1h", "time of one try; of a command"},
    SettingFacts{Kind::kCount, "model.max_retries", "", "6", "tries after the first one"},
    SettingFacts{Kind::kTime, "model.give_up", "", "1h", "longest pause that a server may ask for"},
    SettingFacts{Kind::kPrices, "model.prices", "--price", "",
                 "\"MODEL INPUT OUTPUT [CACHED]\" in dollars a million tokens; MODEL may end in *"},
    SettingFacts{Kind::kYesNo, "model.strict_replay", "", "false",
                 "replay: a reply to another request is an error, not a note"},
    SettingFacts{Kind::kWords, "model.command", "--command", "",
                 "provider command: program and arguments, quoted like \"ask 'my file'\"; no shell", true},
    SettingFacts{Kind::kText, "model.ca_file", "--ca-file", "", "certificates to trust instead of the system's", true},
    SettingFacts{Kind::kCount, "model.max_output_tokens", "--max-output-tokens", "16000",
                 "tokens that one answer may have"},
};

constexpr std::array<std::string_view, 3> kRoles{"writer", "repairer", "librarian"};
constexpr std::string_view kModel = "model.";

}  // namespace

std::span<const SettingFacts> all_settings() {
  return kSettings;
}

std::string environment_name(std::string_view key) {
  std::string name = "KFACTORY_" + std::string(key);
  std::ranges::transform(name, name.begin(),
                         [](char c) { return c == '.' ? '_' : static_cast<char>(c >= 'a' && c <= 'z' ? c - 32 : c); });
  return name;
}

std::span<const std::string_view> roles_with_models() {
  return kRoles;
}

std::string_view role_of_key(std::string_view key) {
  if (!key.starts_with(kModel)) {
    return {};
  }
  const std::string_view rest = key.substr(kModel.size());
  const std::string_view first = rest.substr(0, rest.find('.'));
  return first.size() < rest.size() && std::ranges::find(kRoles, first) != kRoles.end() ? first : std::string_view();
}

const SettingFacts* setting_of(std::string_view key) {
  std::string general(key);
  if (const std::string_view role = role_of_key(key); !role.empty()) {
    general = std::string(kModel) + std::string(key.substr(kModel.size() + role.size() + 1));
    if (general == "model.max_output_tokens") {  // shapes the search, not a model
      return nullptr;
    }
  }
  const auto* const found = std::ranges::find(kSettings, general, &SettingFacts::key);
  return found == kSettings.end() ? nullptr : found;
}

}  // namespace kf
