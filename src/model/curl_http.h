// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>

#include <kfactory/clock.h>

#include "http.h"

namespace kf {

// Http over libcurl, which is opened by the first request. Proxies come from the environment as curl reads it:
// https_proxy, http_proxy (lower case only), all_proxy, no_proxy. An empty `ca_file` leaves libcurl's own store.
std::unique_ptr<Http> curl_http(Clock& clock, std::string ca_file);

}  // namespace kf
