// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <memory>
#include <string>

#include <kfactory/clock.h>
#include <kfactory/error.h>
#include <kfactory/model.h>

namespace kf {

// A model without a connection: docs/formats/exchange.md. Writes <folder>/<role>-<ordinal>.request.md and reads
// <folder>/<role>-<ordinal>.reply.md once it is there and whole.
struct ExchangeSettings {
  std::string folder;  // made when it is missing
  bool wait = true;    // false: kWaiting at once
  std::chrono::milliseconds poll{500};
  std::chrono::milliseconds stable{1'000};  // size and time of a reply unchanged for this long: it is whole
};
std::unique_ptr<Model> exchange_model(ExchangeSettings settings, Clock& clock);

}  // namespace kf
