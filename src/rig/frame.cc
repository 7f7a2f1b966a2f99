// SPDX-License-Identifier: Apache-2.0
#include "rig/frame.h"

#include <cstring>

namespace kf {
namespace {

constexpr std::size_t kHeader = 8;

std::uint32_t read_u32(const std::byte* at) {
  std::uint32_t value = 0;
  for (int i = 3; i >= 0; --i) {
    value = value << 8 | std::to_integer<std::uint32_t>(at[i]);
  }
  return value;
}

void append_u32(Bytes& bytes, std::uint32_t value) {
  for (int i = 0; i < 4; ++i) {
    bytes.push_back(static_cast<std::byte>(value >> (8 * i) & 255));
  }
}

std::optional<Error> too_large(std::uint64_t json, std::uint64_t blob) {
  if (json <= kMaxFrameJson && blob <= kMaxFrameBlob) {
    return std::nullopt;
  }
  return Error{"frame header",
               "announces " + std::to_string(json) + " bytes of JSON and " + std::to_string(blob) +
                   " of blob; allowed are " + std::to_string(kMaxFrameJson) + " and " + std::to_string(kMaxFrameBlob),
               ""};
}

}  // namespace

OrError<Bytes> encode_frame(const Frame& frame) {
  if (auto error = too_large(frame.json.size(), frame.blob.size())) {
    return std::unexpected(*std::move(error));
  }
  Bytes bytes;
  bytes.reserve(kHeader + frame.json.size() + frame.blob.size());
  append_u32(bytes, static_cast<std::uint32_t>(frame.json.size()));
  append_u32(bytes, static_cast<std::uint32_t>(frame.blob.size()));
  const auto json = std::as_bytes(std::span(frame.json));
  bytes.insert(bytes.end(), json.begin(), json.end());
  bytes.insert(bytes.end(), frame.blob.begin(), frame.blob.end());
  return bytes;
}

void FrameReader::feed(std::span<const std::byte> bytes) {
  if (!error_) {
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  }
}

OrError<std::optional<Frame>> FrameReader::next() {
  if (!error_ && pending() >= kHeader) {
    error_ = too_large(read_u32(&buffer_[start_]), read_u32(&buffer_[start_ + 4]));
    if (error_) {
      buffer_.clear();
      start_ = 0;
    }
  }
  if (error_) {
    return std::unexpected(*error_);
  }
  if (pending() < kHeader) {
    return std::nullopt;
  }
  const std::size_t json = read_u32(&buffer_[start_]);
  const std::size_t blob = read_u32(&buffer_[start_ + 4]);
  if (pending() < kHeader + json + blob) {
    return std::nullopt;
  }
  const std::byte* at = buffer_.data() + start_ + kHeader;
  Frame frame;
  frame.json.assign(reinterpret_cast<const char*>(at), json);
  frame.blob.assign(at + json, at + json + blob);
  start_ += kHeader + json + blob;
  if (start_ == buffer_.size()) {
    buffer_.clear();
    start_ = 0;
  } else if (start_ > buffer_.size() / 2) {
    buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(start_));
    start_ = 0;
  }
  return frame;
}

}  // namespace kf
