// SPDX-License-Identifier: Apache-2.0
// kfactory worker: the device's end of a run. Started by kfactory itself, perhaps behind a launcher on another host.
#include "rig/worker.h"

#include "commands.h"
#include "devices.h"
#include "parts.h"

namespace kf {

int worker_command(const Options& options, const Settings& settings) {
  const std::string& kind = settings.text("device.kind");
  if (kind != "cuda" && kind != "emulator") {
    throw UsageError{{{"--device", "a worker needs cuda or emulator, found \"" + kind + "\"", ""}}};
  }
  const DeviceOpener opener =
      device_opener(kind, static_cast<int>(settings.count("device.gpu")), settings.text("device.target"),
                    static_cast<unsigned>(settings.count("device.emulator_threads")));
  if (!options.job_file.empty()) {
    return one_job_main(options.job_file, options.answer_file, opener);
  }
  WorkerOptions worker;
  worker.version = std::string(program_version());
  worker.sanitizer.one_job = {own_path(), "worker", "--device", kind, "--gpu", settings.text("device.gpu")};
  if (!settings.text("device.target").empty()) {
    worker.sanitizer.one_job.insert(worker.sanitizer.one_job.end(), {"--target", settings.text("device.target")});
  }
  return worker_main(worker, opener);
}

}  // namespace kf
