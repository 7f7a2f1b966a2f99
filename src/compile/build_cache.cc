// SPDX-License-Identifier: Apache-2.0
#include "compile/build_cache.h"

#include <filesystem>

#include "compile/wire.h"
#include "os/atomic_file.h"

namespace kf {
namespace {

constexpr std::string_view kMagic = "kfbuild1";
constexpr std::size_t kHeaderBytes = 8 + 64;  // magic, SHA-256 of the rest in hexadecimal
constexpr std::uint64_t kMaxEntryBytes = 1ULL << 30;

std::uint64_t size_of(const Build& build) {
  return build.ptx.size() + build.cubin.size() + build.log.size() + 1024;
}

}  // namespace

std::optional<Build> MemoryCache::find(const Digest& id) {
  const std::scoped_lock lock(mutex_);
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) {
    return std::nullopt;
  }
  builds_.splice(builds_.begin(), builds_, found->second);
  return builds_.front();
}

void MemoryCache::put(const Build& build) {
  const std::scoped_lock lock(mutex_);
  if (by_id_.contains(build.id) || size_of(build) > limit_bytes_) {
    return;
  }
  builds_.push_front(build);
  by_id_[build.id] = builds_.begin();
  bytes_ += size_of(build);
  while (bytes_ > limit_bytes_) {
    bytes_ -= size_of(builds_.back());
    by_id_.erase(builds_.back().id);
    builds_.pop_back();
  }
}

std::string FolderCache::path_of(const Digest& id) const {
  const std::string hex = to_hex(id);
  return folder_ + "/" + hex.substr(0, 2) + "/" + hex + ".build";
}

std::optional<NvrtcOutput> FolderCache::find(const Digest& id) const {
  const OrError<std::string> file = read_file(path_of(id), kMaxEntryBytes);
  if (!file || file->size() < kHeaderBytes || !file->starts_with(kMagic)) {
    return std::nullopt;
  }
  const std::string_view content = std::string_view(*file).substr(kHeaderBytes);
  if (std::string_view(*file).substr(kMagic.size(), 64) != to_hex(sha256(content))) {
    return std::nullopt;
  }
  const auto fields = unpack(content);
  if (!fields || fields->size() != 4 || (*fields)[0] != to_hex(id)) {
    return std::nullopt;
  }
  NvrtcOutput output;
  output.log = (*fields)[1];
  output.ptx = (*fields)[2];
  const auto bytes = std::as_bytes(std::span((*fields)[3].data(), (*fields)[3].size()));
  output.cubin.assign(bytes.begin(), bytes.end());
  return output;
}

void FolderCache::put(const Digest& id, const NvrtcOutput& output) const {
  const std::string path = path_of(id);
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  const std::string hex = to_hex(id);
  const std::string_view cubin(reinterpret_cast<const char*>(output.cubin.data()), output.cubin.size());
  const std::string_view fields[] = {hex, output.log, output.ptx, cubin};
  const std::string content = pack(fields);
  (void)write_file_atomically(path, std::string(kMagic) + to_hex(sha256(content)) + content, Durable::kLater);
}

}  // namespace kf
