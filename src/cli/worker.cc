// SPDX-License-Identifier: Apache-2.0
// kfactory worker: the device's end of a run. Started by kfactory itself, perhaps behind a launcher on another host.
#include "rig/worker.h"

#include "commands.h"
#include "devices.h"

namespace kf {

int worker_command(const Options&, const Settings& settings) {
  const std::string& kind = settings.text("device.kind");
  if (kind != "cuda" && kind != "emulator") {
    throw UsageError{{{"--device", "a worker needs cuda or emulator, found \"" + kind + "\"", ""}}};
  }
  WorkerOptions options;
  options.version = std::string(program_version());
  return worker_main(
      options, device_opener(kind, static_cast<int>(settings.count("device.gpu")), settings.text("device.target")));
}

}  // namespace kf
