// SPDX-License-Identifier: Apache-2.0
#include "exchange_model.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "call_text.h"
#include "os/atomic_file.h"
#include "retry.h"
#include "transcript.h"

namespace kf {
namespace {

using Kind = ModelError::Kind;
constexpr std::uint64_t kLargestReply = 16u << 20;

struct FileState {
  std::int64_t bytes = -1, seconds = 0, nanoseconds = 0;  // -1: not there, or empty, which is not a reply
  bool operator==(const FileState&) const = default;
  bool there() const { return bytes > 0; }
};

FileState state_of(const std::string& path) {
  struct stat info{};
  if (stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) {
    return {};
  }
  return {info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec};
}

std::string hash_line(const ModelCall& call) {
  return "request_sha256: " + to_hex(request_digest(call)) + '\n';
}

std::string request_text(const ModelCall& call, const std::string& reply_name) {
  return "---\nkfactory_exchange: 1\nrole: " + std::string(to_string(call.role)) +
         "\nordinal: " + std::to_string(call.ordinal) +
         "\nmax_output_tokens: " + std::to_string(call.max_output_tokens) + '\n' + hash_line(call) +
         "reply: " + reply_name + "\n---\n\nWrite the answer, and nothing else, to `" + reply_name +
         "` in this folder: under another name first, then renamed, or in one go.\n" + markdown_of(call);
}

class ExchangeModel : public Model {
 public:
  ExchangeModel(ExchangeSettings settings, Clock& clock) : settings_(std::move(settings)), clock_(clock) {}

  std::expected<Reply, ModelError> ask(const ModelCall& call, std::stop_token stop) override {
    const std::string stem = std::string(to_string(call.role)) + '-' + std::to_string(call.ordinal);
    const std::string reply_path = path_of(stem + ".reply.md");
    const auto start = clock_.now();
    if (auto error = put_request(call, stem)) {
      return std::unexpected(std::move(*error));
    }
    if (auto error = wait_for(reply_path, stop)) {
      return std::unexpected(std::move(*error));
    }
    const OrError<std::string> bytes = read_file(reply_path, kLargestReply);
    if (!bytes) {
      return std::unexpected(ModelError{Kind::kNoReply, to_string(bytes.error()), true, {}});
    }
    Reply reply = plain_reply(clean_text(*bytes), call, "exchange");
    reply.latency = std::chrono::duration_cast<std::chrono::milliseconds>(clock_.now() - start);
    return reply;
  }

  std::string description() const override { return "exchange through files"; }

 private:
  std::string path_of(const std::string& name) const { return settings_.folder + '/' + name; }

  // A reply that lies there already must belong to this request, not to one of another run in the same folder.
  std::optional<ModelError> put_request(const ModelCall& call, const std::string& stem) const {
    std::error_code failure;
    std::filesystem::create_directories(settings_.folder, failure);
    const std::string path = path_of(stem + ".request.md");
    const std::string text = request_text(call, stem + ".reply.md");
    if (const OrError<std::string> old = read_file(path)) {
      if (old->find(hash_line(call)) != std::string::npos) {
        return std::nullopt;
      }
      if (state_of(path_of(stem + ".reply.md")).there()) {
        return ModelError{Kind::kProtocol,
                          path +
                              " holds another request, and its reply is there: the folder belongs to another run, or "
                              "this one has gone on since and asks about more; move both files away and --resume, "
                              "or name an empty folder",
                          false,
                          {}};
      }
    }
    if (const OrError<void> written = write_file_atomically(path, text); !written) {
      return ModelError{Kind::kUnreachable, to_string(written.error()), false, {}};
    }
    return std::nullopt;
  }

  std::optional<ModelError> wait_for(const std::string& path, const std::stop_token& stop) const {
    FileState seen;
    auto since = clock_.now();
    for (;;) {
      if (stop.stop_requested()) {
        return ModelError{Kind::kCancelled, "stopped while waiting for " + path, true, {}};
      }
      const FileState state = state_of(path);
      if (state != seen) {
        seen = state;
        since = clock_.now();
      }
      if (seen.there() && (is_old(seen) || clock_.now() - since >= settings_.stable)) {
        return std::nullopt;
      }
      if (!seen.there() && !settings_.wait) {
        return ModelError{Kind::kWaiting, "no reply yet: waiting for " + path, true, {}};
      }
      clock_.sleep(settings_.poll, stop);
    }
  }

  // Last changed long ago by the wall clock: no need to watch it. Clocks of shared disks differ by a little.
  bool is_old(const FileState& state) const {
    constexpr std::int64_t kOldSeconds = 5;
    const auto now = seconds_from_utc(clock_.utc());
    return now && *now - state.seconds >= kOldSeconds;
  }

  const ExchangeSettings settings_;
  Clock& clock_;
};

}  // namespace

std::unique_ptr<Model> exchange_model(ExchangeSettings settings, Clock& clock) {
  return std::make_unique<ExchangeModel>(std::move(settings), clock);
}

}  // namespace kf
