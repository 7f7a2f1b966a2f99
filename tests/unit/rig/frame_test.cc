// SPDX-License-Identifier: Apache-2.0
#include "rig/frame.h"

#include <gtest/gtest.h>

#include <random>

namespace kf {
namespace {

Bytes bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}
Bytes header(std::uint32_t json, std::uint32_t blob) {
  Bytes bytes;
  for (const std::uint32_t value : {json, blob}) {
    for (int i = 0; i < 4; ++i) {
      bytes.push_back(static_cast<std::byte>(value >> (8 * i) & 255));
    }
  }
  return bytes;
}

TEST(Frames, AreTwoLittleEndianSizesThenJsonThenBlob) {
  const auto bytes = encode_frame({"{}", bytes_of("abc")});
  ASSERT_TRUE(bytes);
  Bytes expected = header(2, 3);
  for (const std::byte byte : bytes_of("{}abc")) {
    expected.push_back(byte);
  }
  EXPECT_EQ(*bytes, expected);
}

TEST(Frames, ComeBackHoweverTheStreamIsCut) {
  Bytes stream;
  for (int i = 0; i < 20; ++i) {
    const auto bytes = encode_frame(
        {std::string(static_cast<std::size_t>(i * 7), 'j'), Bytes(static_cast<std::size_t>(i * 13), std::byte{1})});
    stream.insert(stream.end(), bytes->begin(), bytes->end());
  }
  for (const std::size_t step : {1U, 2U, 7U, 64U, 1U << 20}) {
    FrameReader reader;
    std::size_t frames = 0;
    for (std::size_t at = 0; at < stream.size(); at += step) {
      reader.feed(std::span(stream).subspan(at, std::min(step, stream.size() - at)));
      for (;;) {
        const auto frame = reader.next();
        ASSERT_TRUE(frame);
        if (!*frame) {
          break;
        }
        EXPECT_EQ((*frame)->json.size(), frames * 7);
        EXPECT_EQ((*frame)->blob.size(), frames * 13);
        ++frames;
      }
    }
    EXPECT_EQ(frames, 20U);
    EXPECT_EQ(reader.pending(), 0U);
  }
}

TEST(Frames, WaitForTheRest) {
  FrameReader reader;
  reader.feed(header(2, 0));
  const auto frame = reader.next();
  ASSERT_TRUE(frame);
  EXPECT_FALSE(*frame);
  EXPECT_EQ(reader.pending(), 8U);
}

TEST(Frames, RefuseSizesAboveTheCapsAtOnceAndForGood) {
  for (const auto& [json, blob] :
       {std::pair{kMaxFrameJson + 1, 0U}, std::pair{0U, kMaxFrameBlob + 1}, std::pair{~0U, ~0U}}) {
    FrameReader reader;
    reader.feed(header(json, blob));
    EXPECT_FALSE(reader.next());
    const auto good = encode_frame({"{}", {}});
    reader.feed(*good);
    EXPECT_FALSE(reader.next());
    EXPECT_EQ(reader.pending(), 0U);
  }
}

TEST(Frames, AreNotMadeAboveTheCaps) {
  const auto bytes = encode_frame({std::string(kMaxFrameJson + 1UL, ' '), {}});
  ASSERT_FALSE(bytes);
  EXPECT_NE(bytes.error().what.find("allowed"), std::string::npos);
}

TEST(Frames, SurviveRandomBytes) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 2000; ++round) {
    FrameReader reader;
    Bytes bytes(random() % 200);
    for (std::byte& byte : bytes) {
      byte = static_cast<std::byte>(random() % 4 == 0 ? random() : 0);  // small sizes must come up too
    }
    reader.feed(bytes);
    for (int i = 0; i < 40; ++i) {
      const auto frame = reader.next();
      if (!frame || !*frame) {
        break;
      }
    }
    EXPECT_LE(reader.pending(), bytes.size());
  }
}

}  // namespace
}  // namespace kf
