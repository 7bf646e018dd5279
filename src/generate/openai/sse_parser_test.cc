#include "generate/openai/sse_parser.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/random.h"

namespace specgen {
namespace {

struct Heard {
  std::vector<std::string> events;  // "name|data"
  bool failed = false;
  std::uint64_t comments = 0;
  friend bool operator==(const Heard&, const Heard&) = default;
};

void hear(SseParser& parser, Heard& heard) {
  while (!heard.failed) {
    auto event = parser.next();
    heard.failed = !event;
    if (!event || !*event) break;
    heard.events.push_back(std::string((*event)->name) + "|" + std::string((*event)->data));
  }
  heard.comments = parser.comments();
}

// Each piece is in its own memory, freed before the next.
Heard read_in_pieces(const std::vector<std::string>& pieces, Bytes limit = KiB(4)) {
  SseParser parser(limit);
  Heard heard;
  for (const std::string& piece : pieces) {
    auto gone_later = std::make_unique<std::vector<char>>(piece.begin(), piece.end());
    if (!heard.failed) parser.feed({gone_later->data(), gone_later->size()});
    hear(parser, heard);
  }
  if (!heard.failed) parser.finish();
  hear(parser, heard);
  return heard;
}

std::vector<std::string> events_of(const std::string& stream) {
  return read_in_pieces({stream}).events;
}

using Events = std::vector<std::string>;

TEST(SseParser, an_event_ends_with_a_blank_line) {
  EXPECT_EQ(events_of("data: {\"a\":1}\n\ndata: [DONE]\n\n"), (Events{"|{\"a\":1}", "|[DONE]"}));
}

TEST(SseParser, lines_end_in_three_ways) {
  EXPECT_EQ(events_of("data: a\r\n\r\ndata: b\r\rdata: c\n\n"), (Events{"|a", "|b", "|c"}));
  EXPECT_EQ(events_of("data: a\r\n\ndata: b\n\r\n"), (Events{"|a", "|b"}));
}

TEST(SseParser, one_space_after_the_colon_is_removed) {
  EXPECT_EQ(events_of("data:a\n\ndata:  b\n\ndata: \n\ndata\n\n"), (Events{"|a", "| b", "|", "|"}));
}

TEST(SseParser, several_data_lines_are_one_event) {
  EXPECT_EQ(events_of("data: {\ndata: \"a\": 1\ndata:\ndata: }\n\n"), Events{"|{\n\"a\": 1\n\n}"});
}

TEST(SseParser, unknown_fields_are_ignored) {
  EXPECT_EQ(events_of("id: 7\nevent: error\nretry: 10\ndata: a\n\nevent: ping\n\ndata: b\n\n"),
            (Events{"error|a", "|b"}));
}

TEST(SseParser, comments_are_counted_and_are_not_events) {
  Heard heard = read_in_pieces({": keep-alive\n\n:\n\n", "data: a\n", ": in between\ndata: b\n\n"});
  EXPECT_EQ(heard.events, Events{"|a\nb"});
  EXPECT_EQ(heard.comments, 3U);
}

TEST(SseParser, a_byte_order_mark_is_skipped_at_the_beginning_only) {
  EXPECT_EQ(events_of("\xEF\xBB\xBF"
                      "data: a\n\ndata: \xEF\xBB\xBFz\n\n"),
            (Events{"|a", "|\xEF\xBB\xBFz"}));
  EXPECT_EQ(read_in_pieces({"\xEF", "\xBB",
                            "\xBF"
                            "da",
                            "ta: a\n\n"})
                .events,
            Events{"|a"});
}

TEST(SseParser, the_end_of_the_body_ends_the_last_event) {
  EXPECT_EQ(events_of("data: a\n\ndata: b\n"), (Events{"|a", "|b"}));
  EXPECT_EQ(events_of("data: a\n\ndata: b"), (Events{"|a", "|b"}));
  EXPECT_EQ(events_of("event: error\n"), Events{});
  EXPECT_EQ(events_of(""), Events{});
}

TEST(SseParser, an_event_within_one_piece_is_not_copied) {
  std::string piece = "data: a\n\ndata: bc\n\ndata: d";
  SseParser parser;
  parser.feed(piece);
  auto first = parser.next();
  auto second = parser.next();
  ASSERT_TRUE(first && *first && second && *second);
  EXPECT_EQ((*first)->data.data(), piece.data() + 6);
  EXPECT_EQ((*second)->data.data(), piece.data() + 15);
}

TEST(SseParser, a_giant_line_is_an_error_before_its_end) {
  SseParser parser(KiB(1));
  std::string piece = "data: " + std::string(600, 'x');
  parser.feed(piece);
  ASSERT_TRUE(parser.next());
  parser.feed(piece);
  auto event = parser.next();
  ASSERT_FALSE(event);
  EXPECT_EQ(event.error().code, ErrorCode::bad_stream);
  EXPECT_FALSE(parser.next()) << "it stays an error";
}

TEST(SseParser, a_giant_event_of_many_lines_is_an_error) {
  std::string stream = "data: fine\n\n";
  for (int i = 0; i < 100; ++i) stream += "data: 123456789012345678901234567890\n";
  Heard heard = read_in_pieces({stream + "\n"}, KiB(1));
  EXPECT_TRUE(heard.failed);
  EXPECT_EQ(heard.events, Events{"|fine"});
}

TEST(SseParser, a_body_that_is_not_a_stream_is_shown_by_its_first_line) {
  SseParser parser;
  parser.feed("<html>\n<body>Bad gateway</body>\n");
  auto event = parser.next();
  ASSERT_TRUE(event);
  EXPECT_FALSE(*event);
  EXPECT_EQ(parser.stray(), "<html>");
}

TEST(SseParser, every_split_in_two_gives_the_same) {
  const std::string stream =
      "\xEF\xBB\xBF: hello\r\n\r\ndata: one\r\n\r\nevent: x\rdata:two\rdata: three\r\rid: 1\n"
      "data: \xF0\x9F\x98\x80\n\n\n\ndata: last";
  Heard whole = read_in_pieces({stream});
  ASSERT_EQ(whole.events.size(), 4U);
  for (std::size_t at = 0; at <= stream.size(); ++at) {
    EXPECT_EQ(read_in_pieces({stream.substr(0, at), stream.substr(at)}), whole) << at;
  }
}

TEST(SseParser, any_bytes_in_any_pieces_give_the_same) {
  const std::vector<std::string> words{"data: ",    "data:",        "data", "\n",       "\r",
                                       "\r\n",      "\n\n",         ":",    "event: e", "x",
                                       "{\"a\":1}", "\xEF\xBB\xBF", "id",   " "};
  Random random(1);
  for (int round = 0; round < 3000; ++round) {
    std::string stream;
    for (std::uint64_t n = random.below(30); n > 0; --n)
      stream += words[random.below(words.size())];
    std::vector<std::string> pieces;
    for (std::size_t at = 0; at < stream.size();) {
      std::size_t length = 1 + random.below(6);
      pieces.push_back(stream.substr(at, length));
      at += length;
    }
    EXPECT_EQ(read_in_pieces(pieces, {40}), read_in_pieces({stream}, {40})) << stream;
  }
}

}  // namespace
}  // namespace specgen
