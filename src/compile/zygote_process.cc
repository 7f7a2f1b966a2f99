// SPDX-License-Identifier: Apache-2.0
// What runs inside the zygote, the minders and the workers. Every process here has one thread.
#include "compile/zygote_process.h"

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <optional>

#include "compile/scratch.h"
#include "compile/wire.h"
#include "compile/zygote.h"
#include "os/sandbox.h"

namespace kf {
namespace {

using Fields = std::vector<std::string>;
using Clock = std::chrono::steady_clock;

constexpr int kRequestDescriptor = 4;  // in the minder
constexpr int kResultDescriptor = 5;   // in the worker

struct Server {
  NvrtcLibrary nvrtc;
  std::string scratch_folder;
  std::uint64_t address_space_bytes;
  bool sandbox;
  std::vector<std::string> readable;
};

std::uint64_t number(const std::string& text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

void answer(int fd, const Fields& fields) {
  (void)send_message(fd, pack(fields));
}

// ---- worker -------------------------------------------------------------------------------------

// ptxas names lines of a PTX text that a failed compilation does not give out: made once more, as PTX only, so that
// the lines can be traced back to the source.
std::string ptx_behind(const NvrtcLibrary& nvrtc, NvrtcJob job, const NvrtcOutput& output) {
  if (output.log.find("ptx input, line ") == output.log.npos) {
    return {};
  }
  for (std::string& option : job.options) {
    const std::size_t sm = option.find("=sm_");
    if (option.starts_with("--gpu-architecture=") && sm != option.npos) {
      option.replace(sm, 4, "=compute_");
    }
  }
  return nvrtc.compile(job).ptx;
}

int work(const Server& server, const NvrtcJob& job, const std::string& scratch) {
  if (server.sandbox) {
    if (const OrError<bool> entered = enter_sandbox({server.readable, {scratch}}); !entered) {
      (void)write_all(kResultDescriptor, pack(Fields{"never began", to_string(entered.error())}));
      return 0;
    }
  }
  NvrtcOutput output = server.nvrtc.compile(job);
  if (output.result == NVRTC_ERROR_COMPILATION && output.ptx.empty()) {
    output.ptx = ptx_behind(server.nvrtc, job, output);
  }
  output.log.resize(std::min(output.log.size(), kMaxRawLogBytes));
  const std::string_view cubin(reinterpret_cast<const char*>(output.cubin.data()), output.cubin.size());
  const std::string result = std::to_string(output.result);
  const std::string_view fields[] = {"done", result, output.log, output.ptx, cubin};
  return write_all(kResultDescriptor, pack(fields)) ? 0 : 1;
}

// ---- minder -------------------------------------------------------------------------------------

struct Request {
  CompileLimits limits;
  NvrtcJob job;
};

std::optional<Request> read_request(int fd) {
  constexpr std::size_t kFirstHeader = 5;
  const OrError<std::string> message = receive_message(fd, kMaxRequestBytes);
  const auto fields = message ? unpack(*message) : std::nullopt;
  if (!fields || fields->size() < kFirstHeader) {
    return std::nullopt;
  }
  Request request;
  request.limits.processor_time = std::chrono::milliseconds(number((*fields)[0]));
  request.limits.wall_time = std::chrono::milliseconds(number((*fields)[1]));
  request.job.name = (*fields)[2];
  request.job.source = (*fields)[3];
  const std::uint64_t headers = number((*fields)[4]);
  if (headers > fields->size() || fields->size() < kFirstHeader + 2 * headers) {
    return std::nullopt;
  }
  std::size_t at = kFirstHeader;
  for (std::uint64_t i = 0; i < headers; ++i, at += 2) {
    request.job.headers.emplace_back((*fields)[at], (*fields)[at + 1]);
  }
  request.job.options.assign(fields->begin() + static_cast<std::ptrdiff_t>(at), fields->end());
  return request;
}

enum class Ended { kByItself, kProcessorTime, kWallTime, kRequesterGone, kTooLong };

// Collects what the worker writes until it closes its end.
Ended collect(int from, int requester, const ChildProcess& worker, const CompileLimits& limits, std::string& bytes) {
  using std::chrono::milliseconds;
  const Clock::time_point end = Clock::now() + limits.wall_time;
  for (;;) {
    const milliseconds wall = std::chrono::ceil<milliseconds>(end - Clock::now());
    const milliseconds processor = limits.processor_time - worker.processor_time();
    if (processor.count() <= 0) {
      return Ended::kProcessorTime;
    }
    if (wall.count() <= 0) {
      return Ended::kWallTime;
    }
    // A worker with several threads uses processor time faster than time passes: looked at more than once.
    const milliseconds next = std::min(wall, std::clamp(processor / 2, milliseconds(10), milliseconds(1000)));
    pollfd both[2] = {{from, POLLIN, 0}, {requester, POLLRDHUP, 0}};
    const int ready = ::poll(both, 2, static_cast<int>(next.count()));
    if (ready == 0 || (ready < 0 && errno == EINTR)) {
      continue;
    }
    if (ready < 0) {
      return Ended::kWallTime;
    }
    if (both[1].revents != 0) {
      return Ended::kRequesterGone;
    }
    const OrError<std::string> more = read_some(from, 1 << 20);
    if (!more || more->empty()) {
      return Ended::kByItself;
    }
    bytes += *more;
    if (bytes.size() > kMaxAnswerBytes) {
      return Ended::kTooLong;
    }
  }
}

// A compiler that cannot allocate says so on stderr and aborts, or it crashes; then what it had resident tells.
bool ran_out_of_memory(const Server& server, const ChildExit& exit, const std::string& stderr_text) {
  return stderr_text.find("out of memory") != std::string::npos || stderr_text.find("bad_alloc") != std::string::npos ||
         static_cast<std::uint64_t>(exit.peak_bytes) > server.address_space_bytes / 2;
}

Fields describe(const Server& server, const Request& request, Ended ended, std::chrono::milliseconds used,
                const ChildExit& exit, const std::string& stderr_text) {
  if (ended == Ended::kProcessorTime) {
    return {"timeout", "compiling took more than " + std::to_string(request.limits.processor_time.count()) +
                           " ms of processor time"};
  }
  if (ended == Ended::kWallTime) {
    return {"timeout", "compiling did not end within " + std::to_string(request.limits.wall_time.count()) +
                           " ms (of processor time it had used " + std::to_string(used.count()) + " of " +
                           std::to_string(request.limits.processor_time.count()) + " ms)"};
  }
  if (ended == Ended::kTooLong) {
    return {"memory", "PTX, cubin and log are larger than " + std::to_string(kMaxAnswerBytes >> 20) + " MiB"};
  }
  if (ran_out_of_memory(server, exit, stderr_text)) {
    return {"memory",
            "compiling needs more than " + std::to_string(server.address_space_bytes >> 20) + " MiB of address space"};
  }
  // SIGKILL comes from outside, or from a kernel that is short of memory: whose fault it was shows when it comes again.
  return {exit.signal == SIGKILL ? "lost" : "crash", "the compiler ended with " + to_string(exit)};
}

int mind(const Server& server, int requester) {
  const auto request = read_request(requester);
  OrError<CompileScratch> made = CompileScratch::make(server.scratch_folder);
  if (!request || !made) {
    answer(requester,
           request ? Fields{"never began", to_string(made.error())} : Fields{"lost", "a request that cannot be read"});
    return 1;
  }
  std::optional<CompileScratch> scratch(std::move(*made));
  const std::string name = scratch->path();
  OrError<DescriptorPair> result = make_pipe();
  ChildOptions options;
  options.out = Stream::kNull;
  const Descriptor errors(::memfd_create("stderr", MFD_CLOEXEC));
  options.working_directory = name;
  options.descriptors = {{result ? result->write.get() : -1, kResultDescriptor}, {errors.get(), STDERR_FILENO}};
  options.die_with_parent = true;
  options.open_files = 64;
  options.file_size_bytes = 1ULL << 30;
#ifndef KF_SANITIZED
  options.address_space_bytes = server.address_space_bytes;
#endif
  OrError<ChildProcess> worker = !result
                                     ? std::unexpected(result.error())
                                     : ChildProcess::fork(options, [&] { return work(server, request->job, name); });
  if (!worker) {
    answer(requester, {"never began", to_string(worker.error())});
    return 1;
  }
  result->write.reset();
  std::string bytes;
  const Ended ended = collect(result->read.get(), requester, *worker, request->limits, bytes);
  const bool stopped = ended == Ended::kWallTime && worker->is_stopped();
  const std::chrono::milliseconds used = worker->processor_time();
  if (ended != Ended::kByItself) {
    worker->kill();
  }
  const ChildExit exit = *worker->wait(std::chrono::milliseconds(-1));
  scratch.reset();  // before the answer: whoever has it finds nothing left behind
  if (ended == Ended::kByItself && exit.ok() && unpack(bytes)) {
    (void)send_message(requester, bytes);
  } else {
    std::string text(4096, '\0');
    const ssize_t got = ::pread(errors.get(), text.data(), text.size(), 0);
    text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    answer(requester, stopped ? Fields{"lost", "a signal from outside had stopped the compiler"}
                              : describe(server, *request, ended, used, exit, text));
  }
  return 0;
}

// ---- zygote -------------------------------------------------------------------------------------

constexpr const char* kWarmUp =
    R"(extern "C" __global__ void warm(float* x) { x[threadIdx.x] = sqrtf(x[threadIdx.x]) * 2.0f; })";

OrError<Server> set_up(const Fields& hello) {
  OrError<NvrtcLibrary> nvrtc = NvrtcLibrary::open(hello[0]);
  if (!nvrtc) {
    return std::unexpected(nvrtc.error());
  }
  // The first compilation reads tables that later ones, in forked workers, then share.
  const NvrtcOutput warm = nvrtc->compile({kWarmUp, "warm.cu", {}, {"--gpu-architecture=sm_90a"}});
  if (warm.result != NVRTC_SUCCESS) {
    return std::unexpected(
        Error{hello[0], "cannot compile a trivial kernel: " + warm.log, "is libnvrtc-builtins beside it?"});
  }
  remove_abandoned_scratch(hello[1]);
  rlimit own{};
  ::getrlimit(RLIMIT_AS, &own);  // may be lower than what was asked for
  return Server{std::move(*nvrtc),
                hello[1],
                std::min<std::uint64_t>(number(hello[2]), own.rlim_cur),
                hello[3] == "1",
                {hello.begin() + 4, hello.end()}};
}

void become_minder(const Server& server, pid_t zygote, int requester) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != zygote) {
    ::_exit(1);
  }
  ::signal(SIGCHLD, SIG_DFL);  // the zygote lets the kernel reap; a minder reaps its worker itself
  ::dup2(requester, kRequestDescriptor);
  ::close(kZygoteDescriptor);
  ::_exit(mind(server, kRequestDescriptor));
}

}  // namespace

int compile_zygote_main() {
  const OrError<std::string> message = receive_message(kZygoteDescriptor, kMaxRequestBytes);
  const auto hello = message ? unpack(*message) : std::nullopt;
  if (!hello || hello->size() < 4) {
    return 1;
  }
  const OrError<Server> server = set_up(*hello);
  if (!server) {
    answer(kZygoteDescriptor, {"failed", to_string(server.error())});
    return 1;
  }
  ::signal(SIGCHLD, SIG_IGN);
  ::signal(SIGINT, SIG_IGN);  // Ctrl-C is the requester's to handle
  const std::string bound = server->sandbox ? sandbox_status() : "no sandbox: switched off";
  answer(kZygoteDescriptor, {"ready", server->nvrtc.version(), std::to_string(server->nvrtc.major()), bound});
  const pid_t self = ::getpid();
  for (;;) {
    const OrError<int> requester = receive_descriptor(kZygoteDescriptor);
    if (!requester || *requester < 0) {
      return 0;
    }
    const Descriptor owner(*requester);
    if (::fork() == 0) {
      become_minder(*server, self, *requester);
    }
  }
}

}  // namespace kf
