// SPDX-License-Identifier: Apache-2.0
#include "os/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "os/descriptor.h"

namespace kf {
namespace {

Error at(const std::string& path, std::string_view what) {
  Error error = system_error(what);
  error.where = path;
  return error;
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

// Removes the temporary file unless it was renamed.
struct Temporary {
  std::string path;
  bool renamed = false;
  ~Temporary() {
    if (!renamed) {
      ::unlink(path.c_str());
    }
  }
};

}  // namespace

OrError<void> write_file_atomically(const std::string& path, std::span<const std::byte> bytes, Durable durable) {
  std::string name = path + ".XXXXXX";
  Descriptor file(::mkostemp(name.data(), O_CLOEXEC));
  if (!file) {
    return std::unexpected(at(path, "cannot make a temporary file beside it"));
  }
  Temporary temporary{name};
  if (OrError<void> wrote = write_all(file.get(), bytes); !wrote) {
    return std::unexpected(Error{path, wrote.error().what, "is the disk full?"});
  }
  const ::mode_t mask = ::umask(0);
  ::umask(mask);
  const bool now = durable == Durable::kNow;
  if (::fchmod(file.get(), 0666 & ~mask) != 0 || (now && ::fsync(file.get()) != 0)) {
    return std::unexpected(at(path, "cannot make it durable"));
  }
  if (::rename(name.c_str(), path.c_str()) != 0) {
    return std::unexpected(at(path, "cannot rename the temporary file"));
  }
  temporary.renamed = true;
  if (!now) {
    return {};
  }
  const Descriptor folder(::open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder || ::fsync(folder.get()) != 0) {
    return std::unexpected(at(path, "cannot make the rename durable"));
  }
  return {};
}

OrError<void> write_file_atomically(const std::string& path, std::string_view text, Durable durable) {
  return write_file_atomically(path, std::as_bytes(std::span(text.data(), text.size())), durable);
}

OrError<void> sync_file_system(const std::string& folder) {
  const Descriptor open(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!open || ::syncfs(open.get()) != 0) {
    return std::unexpected(at(folder, "cannot make it durable"));
  }
  return {};
}

OrError<std::string> read_file(const std::string& path, std::uint64_t limit) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status{};
  if (!file || ::fstat(file.get(), &status) != 0) {
    return std::unexpected(at(path, "cannot open it"));
  }
  if (!S_ISREG(status.st_mode)) {
    return std::unexpected(Error{path, "not a regular file", ""});
  }
  if (static_cast<std::uint64_t>(status.st_size) > limit) {
    return std::unexpected(Error{
        path, "has " + std::to_string(status.st_size) + " bytes; at most " + std::to_string(limit) + " are read", ""});
  }
  OrError<std::string> text = read_all(file.get(), limit);
  if (!text) {
    text.error().where = path;
  }
  return text;
}

}  // namespace kf
