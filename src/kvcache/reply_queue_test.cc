#include "kvcache/reply_queue.h"

#include <gtest/gtest.h>

#include "kvcache/kv_session_testing.h"

namespace specgen {
namespace {

using kv_testing::ScriptedStream;
using Verified = KvStore::Reader::Verified;

constexpr std::string_view kNil = "$-1\r\n";

// A value that turns out valid, damaged or late, and may be reclaimed while it is sent.
class FakeReader final : public KvStore::Reader {
 public:
  struct How {
    int late = 0;  // number of not_yet results before the last
    Verified last = Verified::yes;
    std::size_t gone_from = ~std::size_t{0};
  };
  FakeReader(std::string value, How how) : value_(std::move(value)), how_(how) {}

  std::size_t bytes() const override { return value_.size(); }
  Verified verify_some(std::size_t) override {
    return how_.late-- > 0 ? Verified::not_yet : how_.last;
  }
  Verified copy_some(char*, std::size_t) override {
    return Verified::no;
  }  // used by the shared-memory transport
  std::optional<std::size_t> for_piece(
      std::size_t offset, std::size_t max,
      const std::function<std::size_t(std::span<const char>)>& use) override {
    if (offset >= how_.gone_from) return std::nullopt;
    constexpr std::size_t kPage = 10'000;
    std::size_t length = std::min({max, value_.size() - offset, kPage - offset % kPage});
    return use({value_.data() + offset, length});
  }

 private:
  std::string value_;
  How how_;
};

std::unique_ptr<KvStore::Reader> reader(std::string value, FakeReader::How how = {}) {
  return std::make_unique<FakeReader>(std::move(value), how);
}

struct Sending {
  ReplyQueue queue;
  ScriptedStream stream{{}, {777}};

  ReplyQueue::Sent send_all() {
    ReplyQueue::Sent sent = ReplyQueue::Sent::some;
    while (sent == ReplyQueue::Sent::some) sent = queue.send(stream, 100'000);
    return sent;
  }
};

TEST(ReplyQueue, text_and_values_are_sent_in_order) {
  Sending sending;
  std::string large(50'001, 'v');
  sending.queue.add("+OK\r\n");
  sending.queue.add_value(reader(large), kNil);
  sending.queue.add_value(reader("small"), kNil);
  sending.queue.add_value(reader(""), kNil);
  sending.queue.add_value(reader(large), kNil);
  sending.queue.add(":1\r\n");
  EXPECT_EQ(sending.send_all(), ReplyQueue::Sent::all);
  EXPECT_EQ(sending.stream.output, "+OK\r\n$50001\r\n" + large +
                                       "\r\n$5\r\nsmall\r\n$0\r\n\r\n$50001\r\n" + large +
                                       "\r\n:1\r\n");
  EXPECT_TRUE(sending.queue.empty());
  EXPECT_EQ(sending.queue.bytes_sent(), sending.stream.output.size());
}

TEST(ReplyQueue, a_damaged_value_becomes_a_nil_and_later_replies_are_unaffected) {
  Sending sending;
  std::string large(50'000, 'v');
  sending.queue.add_value(reader(large, {.late = 3, .last = Verified::no}), kNil);
  sending.queue.add_value(reader("small", {.last = Verified::no}), kNil);
  sending.queue.add_value(reader(large, {.last = Verified::no}), kNil);
  sending.queue.add_value(reader(large), kNil);
  while (sending.send_all() == ReplyQueue::Sent::arriving) continue;
  EXPECT_EQ(sending.stream.output, "$-1\r\n$-1\r\n$-1\r\n$50000\r\n" + large + "\r\n");
}

TEST(ReplyQueue, the_length_is_sent_only_after_the_value_is_checked) {
  Sending sending;
  sending.queue.add_value(reader(std::string(50'000, 'v'), {.late = 5}), kNil);
  EXPECT_EQ(sending.send_all(), ReplyQueue::Sent::arriving);
  EXPECT_EQ(sending.stream.output, "");
  while (sending.send_all() == ReplyQueue::Sent::arriving) continue;
  EXPECT_EQ(sending.stream.output.size(), 8 + 50'000 + 2u);
}

TEST(ReplyQueue, a_value_reclaimed_while_being_sent_is_never_completed) {
  Sending sending;
  sending.queue.add_value(reader(std::string(50'000, 'v'), {.gone_from = 20'000}), kNil);
  sending.queue.add("+OK\r\n");
  EXPECT_EQ(sending.send_all(), ReplyQueue::Sent::value_gone);
  EXPECT_LT(sending.stream.output.size(), 50'000u);
}

TEST(ReplyQueue, is_full_with_much_queued_and_empty_after_sending) {
  Sending sending;
  for (int i = 0; i < 1000 && !sending.queue.is_full(); ++i) {
    sending.queue.add_value(reader(std::string(5'000, 'v')), kNil);
  }
  EXPECT_TRUE(sending.queue.is_full());
  EXPECT_EQ(sending.send_all(), ReplyQueue::Sent::all);
  EXPECT_FALSE(sending.queue.is_full());
}

}  // namespace
}  // namespace specgen
