// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>

#include "model/curl_http.h"
#include "model/http_model.h"

namespace kf::test {

// A Chat Completions model over real sockets; the jitter of its delays is always half.
inline HttpModel model_over_curl(const ModelConfig& config, const std::string& url, Clock& clock) {
  return HttpModel({.config = config,
                    .base_url = url,
                    .dialect = openai_chat_dialect(config),
                    .http = curl_http(clock, ""),
                    .limiter = std::make_shared<Limiter>(),
                    .clock = &clock,
                    .hooks = {},
                    .headers = {},
                    .draw = [] { return 0.5; }});
}

}  // namespace kf::test
