// SPDX-License-Identifier: Apache-2.0
#include "compile/wire.h"

#include <gtest/gtest.h>

#include "os/descriptor.h"

namespace kf {
namespace {

TEST(Wire, UnpacksWhatItPacked) {
  const std::vector<std::string> fields{"", "a", std::string("x\0y", 3), std::string(1000, 'z')};
  EXPECT_EQ(unpack(pack(fields)), fields);
  EXPECT_EQ(unpack(pack(std::vector<std::string>{})), std::vector<std::string>{});
}

TEST(Wire, RefusesEveryTruncationAndEveryAddition) {
  const std::string bytes = pack(std::vector<std::string>{"ab", "cde"});
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(unpack(bytes.substr(0, size))) << size;
  }
  EXPECT_FALSE(unpack(bytes + "x"));
}

TEST(Wire, DoesNotBelieveHugeLengths) {
  std::string bytes = pack(std::vector<std::string>{"ab"});
  bytes[4 + 7] = '\x7f';  // the highest byte of the length
  EXPECT_FALSE(unpack(bytes));
  bytes = std::string("\xff\xff\xff\xff", 4);
  EXPECT_FALSE(unpack(bytes));
}

TEST(Wire, CarriesMessagesAndDescriptors) {
  DescriptorPair pair = make_socket_pair().value();
  ASSERT_TRUE(send_message(pair.read.get(), "hello"));
  EXPECT_EQ(receive_message(pair.write.get(), 100).value(), "hello");
  DescriptorPair pipe = make_pipe().value();
  ASSERT_TRUE(send_descriptor(pair.read.get(), pipe.write.get()));
  const Descriptor received(receive_descriptor(pair.write.get()).value());
  ASSERT_TRUE(write_all(received.get(), "through"));
  EXPECT_EQ(read_some(pipe.read.get()).value(), "through");
}

TEST(Wire, TellsAnEndFromHalfAMessage) {
  DescriptorPair pair = make_socket_pair().value();
  ASSERT_TRUE(write_all(pair.read.get(), std::string_view("\x05\0\0\0\0\0\0\0ab", 10)));
  pair.read.reset();
  EXPECT_FALSE(receive_message(pair.write.get(), 100));
  DescriptorPair empty = make_socket_pair().value();
  empty.read.reset();
  EXPECT_EQ(receive_message(empty.write.get(), 100).value(), "");
  EXPECT_EQ(receive_descriptor(empty.write.get()).value(), -1);
}

TEST(Wire, RefusesMessagesAboveTheLimit) {
  DescriptorPair pair = make_socket_pair().value();
  ASSERT_TRUE(send_message(pair.read.get(), "hello"));
  EXPECT_FALSE(receive_message(pair.write.get(), 4));
}

}  // namespace
}  // namespace kf
