// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "transcript.h"

namespace kf {
namespace {

class FileLock {
 public:
  explicit FileLock(int fd) : fd_(fd) { flock(fd_, LOCK_EX); }
  ~FileLock() { flock(fd_, LOCK_UN); }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  const int fd_;
};

// Where the last line begins that no newline ends; the size of the file when there is none.
off_t start_of_tail(int fd, off_t size) {
  char block[4096];
  for (off_t end = size; end > 0;) {
    const auto length = static_cast<std::size_t>(std::min<off_t>(end, sizeof block));
    end -= static_cast<off_t>(length);
    if (pread(fd, block, length, end) != static_cast<ssize_t>(length)) {
      return size;
    }
    if (const std::size_t newline = std::string_view(block, length).rfind('\n'); newline != std::string_view::npos) {
      return end + static_cast<off_t>(newline) + 1;
    }
  }
  return 0;
}

// A crash cut that line, which was never acknowledged, or a person left out the last newline.
bool end_last_line(int fd, const std::string& path) {
  const off_t size = lseek(fd, 0, SEEK_END);
  const off_t start = start_of_tail(fd, size);
  if (start == size) {
    return true;
  }
  std::string tail(static_cast<std::size_t>(size - start), '\0');
  if (pread(fd, tail.data(), tail.size(), start) != static_cast<ssize_t>(tail.size())) {
    return false;
  }
  const auto whole = parse_transcript(tail, path);
  return whole && !whole->torn ? write_all(fd, "\n").has_value() : ftruncate(fd, start) == 0;
}

class RecordingModel : public Model {
 public:
  RecordingModel(std::unique_ptr<Model> inner, std::shared_ptr<TranscriptWriter> writer)
      : inner_(std::move(inner)), writer_(std::move(writer)) {}

  std::expected<Reply, ModelError> ask(const ModelCall& call, std::stop_token stop) override {
    auto result = inner_->ask(call, std::move(stop));
    TranscriptEntry entry{call.role, call.ordinal, request_digest(call), {}};
    if (result) {
      entry.outcome = *result;
    } else if (result.error().kind == ModelError::Kind::kCancelled ||
               result.error().kind == ModelError::Kind::kWaiting || result.error().kind == ModelError::Kind::kBudget) {
      return result;  // says nothing about the model; the call will be made again
    } else {
      entry.outcome = result.error();
    }
    writer_->append(entry, call);
    return result;
  }

  std::string description() const override { return inner_->description(); }

 private:
  const std::unique_ptr<Model> inner_;
  const std::shared_ptr<TranscriptWriter> writer_;
};

}  // namespace

TranscriptWriter::TranscriptWriter(std::string path, Descriptor file, Clock& clock)
    : path_(std::move(path)), clock_(clock), file_(std::move(file)) {}

OrError<std::shared_ptr<TranscriptWriter>> TranscriptWriter::open(const std::string& path, Clock& clock) {
  Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (!file) {
    return std::unexpected(system_error("open " + path));
  }
  return std::shared_ptr<TranscriptWriter>(new TranscriptWriter(path, std::move(file), clock));
}

void TranscriptWriter::append(const TranscriptEntry& entry, const ModelCall& call) {
  const std::string line = transcript_line(entry, &call, clock_.utc()) + '\n';
  const std::lock_guard threads(mutex_);
  const FileLock processes(file_.get());
  const bool clean = end_last_line(file_.get(), path_);
  const off_t size = lseek(file_.get(), 0, SEEK_END);
  if (!clean || !write_all(file_.get(), line) || fdatasync(file_.get()) != 0) {
    const Error error = system_error("append to " + path_);
    [[maybe_unused]] const int undone =
        ftruncate(file_.get(), size);  // a torn line would be dropped by the next writer anyway
    throw Fatal(to_string(error));
  }
}

std::unique_ptr<Model> recorded(std::unique_ptr<Model> inner, std::shared_ptr<TranscriptWriter> writer) {
  return std::make_unique<RecordingModel>(std::move(inner), std::move(writer));
}

}  // namespace kf
