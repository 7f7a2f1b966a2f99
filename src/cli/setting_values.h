// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <kfactory/error.h>

#include "cli/settings.h"
#include "model/config.h"

// Settings are texts; here is what the texts of each kind mean. Errors quote the text and say what is allowed.

namespace kf {

// "90", "90s", "15m", "2h", "1d", "250ms"; a plain number is seconds.
OrError<std::chrono::milliseconds> time_from_text(std::string_view text);
OrError<bool> yes_or_no_from_text(std::string_view text);                // "true", "false"
OrError<std::optional<double>> number_from_text(std::string_view text);  // empty: not set
// One a line, or separated by ';': "MODEL INPUT OUTPUT [CACHED]", dollars a million tokens; MODEL may end in '*'.
OrError<std::vector<Price>> prices_from_text(std::string_view text);
// One a line: "name: value", or "name=VARIABLE" for a value that an environment variable holds (a secret).
OrError<std::vector<ExtraHeader>> headers_from_text(std::string_view text);

// A value as it may be shown: without what people put into it by mistake (a key, a password in an address) and what is
// secret (the values of headers); "(not shown)" stands there.
std::string shown_value(std::string_view key, std::string value);

// What is wrong with `text` as a value of this setting; nullopt: nothing.
std::optional<Error> value_error(const SettingFacts& facts, const std::string& text, const std::string& where);

}  // namespace kf
