// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include <kfactory/error.h>
#include <kfactory/values.h>

namespace kf {

// What the processes of a rig say to each other: u32 bytes of JSON, u32 bytes of blob (little endian), JSON, blob.
struct Frame {
  std::string json;
  Bytes blob;
};

// Larger parts are refused, by the sender and by the receiver.
inline constexpr std::uint32_t kMaxFrameJson = 64U << 20;
inline constexpr std::uint32_t kMaxFrameBlob = 512U << 20;

OrError<Bytes> encode_frame(const Frame& frame);

// Cuts a stream into frames. The peer is not trusted: a size above its cap is an error as soon as the header is there,
// and memory grows with the bytes that have come, never with the sizes that a header announces.
class FrameReader {
 public:
  void feed(std::span<const std::byte> bytes);
  // nullopt: more bytes are needed. After an error every further call gives the same error.
  OrError<std::optional<Frame>> next();
  // Bytes of an incomplete frame that wait for the rest.
  std::size_t pending() const { return buffer_.size() - start_; }

 private:
  Bytes buffer_;
  std::size_t start_ = 0;  // of the first frame that was not taken
  std::optional<Error> error_;
};

}  // namespace kf
