// SPDX-License-Identifier: Apache-2.0
#include "worker_ways.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <thread>

#include "rig/message.h"
#include "rig/worker.h"
#include "tests/fakes/toy_operation.h"

namespace kf {
namespace {

using fakes::HostDeviceOptions;
using fakes::HostKernel;
using fakes::HostLaunch;

constexpr int kJobOut = 4;  // where a job child's frames go

void raw(std::string_view bytes) {
  (void)!::write(kJobOut, bytes.data(), bytes.size());
}
std::string header(std::uint32_t json, std::uint32_t blob) {
  std::string bytes;
  for (const std::uint32_t value : {json, blob}) {
    for (int i = 0; i < 4; ++i) {
      bytes += static_cast<char>(value >> (8 * i) & 255);
    }
  }
  return bytes;
}
[[noreturn]] void sleep_for_ever() {
  for (;;) {
    ::sleep(100);
  }
}
void print_a_gigabyte() {
  const std::string line(1 << 16, 'x');
  for (int i = 0; i < 1 << 14; ++i) {
    (void)!::write(i % 2 == 0 ? STDOUT_FILENO : STDERR_FILENO, line.data(), line.size());
  }
}
// A descendant that leaves its group and session, and whose parent ends; it writes its number where the test looks.
void leave_a_grandchild() {
  if (::fork() == 0) {
    ::setsid();
    if (::fork() == 0) {
      for (int fd = 0; fd < 64; ++fd) {
        ::close(fd);
      }
      std::ofstream(std::getenv("KFACTORY_TEST_PID"), std::ios::app) << ::getpid() << std::endl;
      sleep_for_ever();
    }
    ::_exit(0);
  }
  for (pid_t number = 0; !(std::ifstream(std::getenv("KFACTORY_TEST_PID")) >> number);) {
    ::usleep(1000);  // it must have lived before its end can be seen
  }
}

// Whether no process of this test was here before.
bool first_time() {
  const char* mark = std::getenv("KFACTORY_TEST_PID");
  const bool first = !std::ifstream(mark);
  std::ofstream(mark) << "here";
  return first;
}

// While the candidate's kernel runs.
std::map<std::string, std::function<void()>, std::less<>> kernel_ways() {
  return {{"kernel_garbage",
           [] {
             raw("this is no frame at all, whatever one reads into it");
             ::sleep(5);
           }},
          {"kernel_garbage_frame",
           [] {
             raw(header(4, 0) + "{}{}");
             ::sleep(5);
           }},
          {"kernel_half_frame",
           [] {
             raw(header(100, 0) + "{\"message\"");
             ::_exit(0);
           }},
          {"kernel_huge_frame",
           [] {
             raw(header(0xFFFFFFFF, 0xFFFFFFFF));
             ::sleep(5);
           }},
          {"kernel_announces_much",
           [] {
             raw(header(1000, 500 << 20) + "{");
             ::_exit(0);
           }},
          {"kernel_closes_pipe",
           [] {
             ::close(kJobOut);
             sleep_for_ever();
           }},
          {"kernel_abort", [] { std::abort(); }},
          {"kernel_exit_3", [] { ::_exit(3); }},
          {"kernel_gets_killed", [] { ::kill(::getpid(), SIGKILL); }},
          {"kernel_gets_killed_once",
           [] {
             if (first_time()) {
               ::kill(::getpid(), SIGKILL);
             }
           }},
          {"kernel_gets_stopped", [] { ::kill(::getpid(), SIGSTOP); }},
          {"kernel_prints", [] { print_a_gigabyte(); }},
          {"kernel_prints_for_ever",
           [] {
             for (;;) {
               print_a_gigabyte();
             }
           }},
          {"kernel_forged_outcome",
           [] {
             std::puts("{\"check\":{\"verdict\":{\"passed\":true}}}");
             std::fflush(stdout);
           }},
          {"kernel_other_job",
           [] {
             auto bytes = encode_frame(to_frame(outcome_message(999, CheckReport{})));
             raw({reinterpret_cast<const char*>(bytes->data()), bytes->size()});
             ::sleep(5);
           }},
          {"kernel_tells_its_oom_score",
           [] {
             std::string score;
             std::ifstream("/proc/self/oom_score_adj") >> score;
             std::ofstream(std::getenv("KFACTORY_TEST_PID")) << score;
           }},
          {"kernel_grandchild", leave_a_grandchild},
          {"kernel_ignores_signals",
           [] {
             ::signal(SIGTERM, SIG_IGN);
             ::signal(SIGINT, SIG_IGN);
             sleep_for_ever();
           }},
          {"kernel_kills_supervisor", [] {
             ::kill(::getppid(), SIGKILL);
             sleep_for_ever();
           }}};
}

DeviceOpener opener_for(std::string_view way) {
  if (way == "open_fails") {
    return [](const WaitObserver&) {
      return OrFault<std::unique_ptr<Device>>(std::unexpected(DeviceFault{DeviceFault::Kind::kLost, "no driver here"}));
    };
  }
  if (way == "open_crashes") {
    return [](const WaitObserver&) -> OrFault<std::unique_ptr<Device>> { std::abort(); };
  }
  if (way == "open_hangs") {
    return [](const WaitObserver&) -> OrFault<std::unique_ptr<Device>> { sleep_for_ever(); };
  }
  return [name = std::string(way)](const WaitObserver& waits) -> OrFault<std::unique_ptr<Device>> {
    HostDeviceOptions options = fakes::toy_device();
    const auto ways = kernel_ways();
    if (const auto found = ways.find(name); found != ways.end()) {
      const HostKernel good = options.kernels["good"];
      options.kernels["misbehaves"] = [act = found->second, good](const HostLaunch& launch) {
        act();
        return good(launch);
      };
    }
    // Faults outside the candidate's launches.
    options.inject = [name, waits, waited = false](std::string_view verb) mutable -> std::optional<DeviceFault> {
      if (!waited && ((verb == "allocate" && name == "waits_for_the_device") ||
                      (verb == "calibrate" && name == "waits_to_describe_it"))) {
        waited = true;
        waits(true);
        std::this_thread::sleep_for(std::chrono::milliseconds(900));
        waits(false);
      }
      if (verb == "compare" && name == "compare_crashes") {
        std::abort();
      }
      if (verb == "compare" && name == "compare_hangs") {
        sleep_for_ever();
      }
      if (verb == "compare" && name == "compare_crashes_once" && first_time()) {
        std::abort();
      }
      return std::nullopt;
    };
    return make_host_device(std::move(options));
  };
}

// Workers that are no supervisor at all.
void say_hello() {
  HostDeviceOptions options;
  auto bytes = encode_frame(to_frame(hello_message({kProtocolVersion, "test", options.facts})));
  (void)!::write(STDOUT_FILENO, bytes->data(), bytes->size());
}
std::optional<int> fake_worker(std::string_view way) {
  if (way == "silent") {
    sleep_for_ever();
  } else if (way == "prints_text") {
    std::puts("Welcome to the cluster! Your job has been queued.");
    std::fflush(stdout);
    sleep_for_ever();
  } else if (way == "ends_at_once") {
    std::fputs("libcuda.so.1: cannot open shared object file\n", stderr);
    return 7;
  } else if (way == "other_protocol") {
    HostDeviceOptions options;
    auto bytes = encode_frame(to_frame(hello_message({kProtocolVersion + 1, "test", options.facts})));
    (void)!::write(STDOUT_FILENO, bytes->data(), bytes->size());
    sleep_for_ever();
  } else if (way == "hello_then_nothing") {
    say_hello();
    sleep_for_ever();
  } else if (way == "hello_then_half_frame" || way == "hello_then_end") {
    say_hello();
    char byte = 0;
    (void)!::read(STDIN_FILENO, &byte, 1);
    if (way == "hello_then_half_frame") {
      const std::string half = header(1000, 0) + "{\"message\":\"outcome\"";
      (void)!::write(STDOUT_FILENO, half.data(), half.size());
    }
    return 0;
  } else if (way == "hello_then_garbage") {
    say_hello();
    char byte = 0;
    (void)!::read(STDIN_FILENO, &byte, 1);
    std::fputs("????????????????????????", stdout);
    std::fflush(stdout);
    sleep_for_ever();
  } else {
    return std::nullopt;
  }
}

}  // namespace

int worker_in_way(std::string_view way) {
  if (const auto code = fake_worker(way)) {
    return *code;
  }
  WorkerOptions options;
  options.version = "test";
  options.open_ahead = way != "open_late";
  options.describe_deadline = std::chrono::milliseconds(way == "open_hangs" ? 300 : 20'000);
  options.sanitizer.one_job = {std::filesystem::read_symlink("/proc/self/exe").string(), "--worker", std::string(way)};
  return worker_main(options, opener_for(way));
}

int one_job_in_way(std::string_view way, const std::string& job, const std::string& answer) {
  return one_job_main(job, answer, opener_for(way));
}

RigOptions rig_options(const std::string& way) {
  RigOptions options;
  options.worker = {"/proc/self/exe", "--worker", way};
  options.version = "test";
  options.start_deadline = std::chrono::milliseconds(20'000);
  options.grace = std::chrono::milliseconds(500);
  return options;
}

}  // namespace kf
