// SPDX-License-Identifier: Apache-2.0
// The requester's side; zygote_process.cc is the other one.
#include "compile/zygote.h"

#include <charconv>
#include <memory>

#include "compile/wire.h"
#include "compile/zygote_process.h"
#include "os/stop_descriptor.h"

namespace kf {
namespace {

using Fields = std::vector<std::string>;

OrError<Fields> ask(int fd, std::span<const std::string> fields, std::chrono::milliseconds time) {
  if (OrError<void> sent = send_message(fd, pack(fields)); !sent) {
    return std::unexpected(sent.error());
  }
  if (wait_readable(fd, time, {}) != Ready::kReadable) {
    return std::unexpected(Error{"", "no answer", ""});
  }
  const OrError<std::string> answer = receive_message(fd, 1 << 20);
  if (!answer) {
    return std::unexpected(answer.error());
  }
  auto unpacked = unpack(*answer);
  return unpacked ? OrError<Fields>(std::move(*unpacked)) : std::unexpected(Error{"", "ended without an answer", ""});
}

Fields request_fields(const NvrtcJob& job, const CompileLimits& limits) {
  Fields fields{std::to_string(limits.processor_time.count()), std::to_string(limits.wall_time.count()), job.name,
                job.source, std::to_string(job.headers.size())};
  for (const auto& [name, text] : job.headers) {
    fields.push_back(name);
    fields.push_back(text);
  }
  fields.insert(fields.end(), job.options.begin(), job.options.end());
  return fields;
}

CompileAccident never_began(std::string detail) {
  return CompileAccident{BuildFailure::Kind::kCrash, std::move(detail), true, true};
}

CompileAccident lost(std::string detail) {
  return CompileAccident{BuildFailure::Kind::kCrash, std::move(detail), true};
}

std::expected<NvrtcOutput, CompileAccident> read_answer(const OrError<std::string>& message) {
  const auto fields = message ? unpack(*message) : std::nullopt;
  if (!fields || fields->empty()) {
    return std::unexpected(lost("the compile process ended without an answer"));
  }
  const std::string& kind = fields->front();
  if (kind == "done" && fields->size() == 5) {
    NvrtcOutput output;
    std::from_chars((*fields)[1].data(), (*fields)[1].data() + (*fields)[1].size(), output.result);
    output.log = (*fields)[2];
    output.ptx = (*fields)[3];
    const auto bytes = std::as_bytes(std::span((*fields)[4].data(), (*fields)[4].size()));
    output.cubin.assign(bytes.begin(), bytes.end());
    return output;
  }
  const std::string detail = fields->size() > 1 ? (*fields)[1] : "";
  if (kind == "timeout") {
    return std::unexpected(CompileAccident{BuildFailure::Kind::kTimeout, detail, false});
  }
  if (kind == "memory") {
    return std::unexpected(CompileAccident{BuildFailure::Kind::kMemory, detail, false});
  }
  if (kind == "never began") {
    return std::unexpected(never_began(detail));
  }
  return std::unexpected(CompileAccident{BuildFailure::Kind::kCrash, detail, kind == "lost"});
}

}  // namespace

OrError<std::unique_ptr<Zygote>> Zygote::start(const ZygoteSettings& settings) {
  OrError<DescriptorPair> control = make_socket_pair();
  if (!control) {
    return std::unexpected(control.error());
  }
  ChildOptions options;
  options.argv = settings.command;
  options.out = Stream::kNull;
  options.err = Stream::kNull;
  options.descriptors = {{control->write.get(), kZygoteDescriptor}};
#ifndef KF_SANITIZED
  // From the start: where there is a GPU, the first compilation of NVRTC 13.0 leaves 13 GB of address space reserved
  // (none of it if that is not allowed), and a worker would begin above its own limit.
  options.address_space_bytes = settings.address_space_bytes;
#endif
  OrError<ChildProcess> process = settings.command.empty()
                                      ? ChildProcess::fork(options, [] { return compile_zygote_main(); })
                                      : ChildProcess::start(options);
  control->write.reset();
  if (!process) {
    return std::unexpected(process.error());
  }
  Fields hello{settings.nvrtc_path, settings.scratch_folder, std::to_string(settings.address_space_bytes),
               settings.sandbox ? "1" : "0"};
  hello.insert(hello.end(), settings.readable.begin(), settings.readable.end());
  const OrError<Fields> answer = ask(control->read.get(), hello, std::chrono::seconds(60));
  if (!answer || answer->size() != 4 || (*answer)[0] != "ready") {
    const std::string why = !answer ? answer.error().what : answer->size() > 1 ? (*answer)[1] : "a strange answer";
    return std::unexpected(Error{"compile process", "did not get ready: " + why, ""});
  }
  std::unique_ptr<Zygote> zygote(new Zygote(std::move(*process), std::move(control->read)));
  zygote->version_ = (*answer)[1];
  zygote->major_ = std::atoi((*answer)[2].c_str());
  zygote->sandbox_ = (*answer)[3];
  return zygote;
}

std::expected<NvrtcOutput, CompileAccident> Zygote::compile(const NvrtcJob& job, const CompileLimits& limits,
                                                            const std::stop_token& stop) {
  OrError<DescriptorPair> request = make_socket_pair();
  if (!request) {
    return std::unexpected(never_began(to_string(request.error())));
  }
  {
    const std::scoped_lock lock(mutex_);
    if (OrError<void> sent = send_descriptor(control_.get(), request->write.get()); !sent) {
      return std::unexpected(lost(to_string(sent.error())));
    }
  }
  request->write.reset();
  if (OrError<void> sent = send_message(request->read.get(), pack(request_fields(job, limits))); !sent) {
    return std::unexpected(lost(to_string(sent.error())));
  }
  // The minder keeps the limits; the grace is for a machine so busy that even the minder is late.
  switch (wait_readable(request->read.get(), limits.wall_time + std::chrono::seconds(30), stop)) {
    case Ready::kStopped:
      return std::unexpected(CompileAccident{BuildFailure::Kind::kTimeout, "stopped before it was done", false});
    case Ready::kTimeout:
      return std::unexpected(lost("the compile process does not answer"));
    case Ready::kReadable:
      break;
  }
  return read_answer(receive_message(request->read.get(), kMaxAnswerBytes));
}

}  // namespace kf
