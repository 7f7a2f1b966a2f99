// SPDX-License-Identifier: Apache-2.0
#include "model/sse.h"

#include <gmock/gmock.h>

#include <utility>
#include <vector>

namespace kf {
namespace {

using ::testing::ElementsAre;
using Event = std::pair<std::string, std::string>;  // name, data

std::vector<Event> events_of(const std::vector<std::string>& pieces) {
  std::vector<Event> events;
  SseParser parser([&](SseEvent&& event) { events.emplace_back(event.name, event.data); });
  for (const std::string& piece : pieces) {
    EXPECT_TRUE(parser.feed(piece));
  }
  return events;
}

std::vector<Event> events_of(const std::string& text) {
  return events_of(std::vector{text});
}

TEST(Sse, ReadsOneEventALine) {
  EXPECT_THAT(events_of("data: a\n\ndata: b\n\n"), ElementsAre(Event("", "a"), Event("", "b")));
}
TEST(Sse, EndsLinesInCrAndCrlfToo) {
  EXPECT_THAT(events_of("data: a\r\rdata: b\r\n\r\ndata: c\n\r\n"),
              ElementsAre(Event("", "a"), Event("", "b"), Event("", "c")));
}
TEST(Sse, TakesACrlfCutInTwoAsOneLineEnd) {
  EXPECT_THAT(events_of({"data: a\r", "\ndata: b\r", "\n\r", "\n"}), ElementsAre(Event("", "a\nb")));
}
TEST(Sse, JoinsDataLines) {
  EXPECT_THAT(events_of("data: a\ndata\ndata:b\n\n"), ElementsAre(Event("", "a\n\nb")));
}
TEST(Sse, TakesOneSpaceOnlyAfterTheColon) {
  EXPECT_THAT(events_of("data:  a: b \n\n"), ElementsAre(Event("", " a: b ")));
}
TEST(Sse, GivesTheNameOfTheEventOnce) {
  EXPECT_THAT(events_of("event: x\ndata: a\n\ndata: b\n\n"), ElementsAre(Event("x", "a"), Event("", "b")));
}
TEST(Sse, ForgetsANameWithoutData) {
  EXPECT_THAT(events_of("event: x\n\ndata: a\n\n"), ElementsAre(Event("", "a")));
}
TEST(Sse, DispatchesEmptyData) {
  EXPECT_THAT(events_of("data\n\ndata:\n\n"), ElementsAre(Event("", ""), Event("", "")));
}
TEST(Sse, SkipsCommentsAndUnknownFields) {
  EXPECT_THAT(events_of(": ping\n\n:\nid: 3\nretry: 7\nnonsense\ndatax: no\ndata: a\n\n"), ElementsAre(Event("", "a")));
}
TEST(Sse, DropsALeadingByteOrderMarkOnly) {
  EXPECT_THAT(events_of("\xEF\xBB\xBF"
                        "data: a\n\n"),
              ElementsAre(Event("", "a")));
  EXPECT_THAT(events_of("data: a\n\n\xEF\xBB\xBF"
                        "data: b\n\n"),
              ElementsAre(Event("", "a")));
}
TEST(Sse, DropsAnUnfinishedLastEvent) {
  EXPECT_THAT(events_of("data: a\n\ndata: b\n"), ElementsAre(Event("", "a")));
  EXPECT_THAT(events_of("data: a\n\ndata: b"), ElementsAre(Event("", "a")));
}
TEST(Sse, SaysThatAnEventIsUnfinished) {
  SseParser parser([](SseEvent&&) {});
  parser.feed("data: a\n\n");
  EXPECT_FALSE(parser.unfinished());
  parser.feed("data: b\n");
  EXPECT_TRUE(parser.unfinished());
}
TEST(Sse, KeepsNulAndEveryOtherByteInData) {
  const std::string odd("data: a\0\x01\xFF\n\n", 12);
  EXPECT_THAT(events_of(odd), ElementsAre(Event("", std::string("a\0\x01\xFF", 4))));
}
TEST(Sse, GivesUpOnALineWithoutEnd) {
  int events = 0;
  SseParser parser([&](SseEvent&&) { ++events; }, 100);
  EXPECT_TRUE(parser.feed(std::string(100, 'x')));
  EXPECT_FALSE(parser.feed("x"));
  EXPECT_FALSE(parser.feed("\n\ndata: a\n\n"));
  EXPECT_EQ(events, 0);
}
TEST(Sse, GivesUpOnAnEventOfEndlessLines) {
  SseParser parser([](SseEvent&&) {}, 100);
  bool fits = true;
  for (int i = 0; i < 60 && fits; ++i) {
    fits = parser.feed("data: 12\n");
  }
  EXPECT_FALSE(fits);
}

// Each stream gives the same events however it is cut: at every byte into two, and into single bytes.
TEST(Sse, DoesNotDependOnWhereTheBytesAreCut) {
  const std::string streams[] = {
      "\xEF\xBB\xBF: c\r\nevent: e\r\ndata: \xC3\xA9\r\ndata: 2\r\n\r\ndata: 3\r\rdata: 4\n\n\ndata: 5",
      "data\n\n\r\n\r\rdata:x\r\n\ndata: \r\r\n", "\n\n\xEF\xBB\xBF\n\ndata:\xF0\x9F\x9A\x80\n\n"};
  for (const std::string& stream : streams) {
    const std::vector<Event> whole = events_of(stream);
    std::vector<std::string> bytes;
    for (std::size_t cut = 0; cut <= stream.size(); ++cut) {
      EXPECT_EQ(events_of({stream.substr(0, cut), stream.substr(cut)}), whole) << "cut at " << cut;
      bytes.push_back(stream.substr(cut, 1));
    }
    EXPECT_EQ(events_of(bytes), whole);
  }
}

}  // namespace
}  // namespace kf
