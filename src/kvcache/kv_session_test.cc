#include "kvcache/kv_session.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "kvcache/kv_session_testing.h"
#include "kvcache/kv_testing.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;
using namespace kv_testing;

class KvSessionTest : public testing::Test {
 protected:
  std::string said_to(const std::string& input, std::vector<std::size_t> sizes = {}) {
    Talk talk(service, input, std::move(sizes));
    talk.run();
    closed_for = talk.session.closed_for();
    return talk.stream.output;
  }

  std::unique_ptr<KvStore> store = open_store(MiB(32));
  KvService service{*store};
  KvClose closed_for = KvClose::server_ended;
};

TEST_F(KvSessionTest, replies_are_those_that_a_native_client_counts_bytes_of) {
  EXPECT_EQ(said_to(command({"SET", "k", "value"})), "+OK\r\n");
  EXPECT_EQ(said_to(command({"GET", "k"})), "$5\r\nvalue\r\n");
  EXPECT_EQ(said_to(command({"EXISTS", "k"})), ":1\r\n");
  EXPECT_EQ(said_to(command({"EXISTS", "none"})), ":0\r\n");
  EXPECT_EQ(said_to(command({"DEL", "k"})), ":1\r\n");
  EXPECT_EQ(said_to(command({"DEL", "k"})), ":0\r\n");
  EXPECT_EQ(said_to(command({"GET", "k"})), "$-1\r\n");
}

TEST_F(KvSessionTest, a_value_that_cannot_be_kept_is_dropped_behind_an_ok) {
  std::string huge(40 << 20, 'x');  // more than there is
  EXPECT_EQ(said_to(command({"SET", "k", huge})), "+OK\r\n");
  EXPECT_EQ(said_to(command({"EXISTS", "k"})), ":0\r\n");
  std::string long_key(5000, 'k');
  EXPECT_EQ(said_to(command({"SET", long_key, "v"}) + command({"GET", long_key})),
            "+OK\r\n$-1\r\n");
}

TEST_F(KvSessionTest, any_split_of_bytes_gives_the_same_replies) {
  std::string large = bytes_of("large", 3'000'001);
  std::string talk = command({"SET", "large", large}) + command({"SET", "tiny", "t"}) +
                     command({"GET", "large"}) + command({"MGET", "tiny", "none", "large"}) +
                     command({"GET", "tiny"}) + "PING\r\n";
  std::string expected = "+OK\r\n+OK\r\n$3000001\r\n" + large +
                         "\r\n*3\r\n$1\r\nt\r\n$-1\r\n$3000001\r\n" + large +
                         "\r\n$1\r\nt\r\n+PONG\r\n";
  EXPECT_EQ(said_to(talk), expected);
  EXPECT_EQ(said_to(talk, {1, 0, 100'000, 7}), expected);
  EXPECT_EQ(said_to(talk, {65536, 0, 0, 65537}), expected);
}

TEST_F(KvSessionTest, a_value_is_seen_only_when_it_is_whole) {
  std::string set = command({"SET", "k", bytes_of("k", 100'000)});
  EXPECT_EQ(said_to(set.substr(0, set.size() - 1)), "");
  EXPECT_EQ(closed_for, KvClose::client_left);
  EXPECT_EQ(said_to(command({"EXISTS", "k"})), ":0\r\n");
}

TEST_F(KvSessionTest, a_client_that_does_not_read_is_still_listened_to_without_a_copy_of_a_value) {
  std::string large = bytes_of("large", 2 << 20);
  said_to(command({"SET", "large", large}));
  Talk talk(service, command({"GET", "large"}) + command({"SET", "other", large}));
  talk.stream.is_open = true;
  talk.stream.is_read = false;
  talk.run();
  EXPECT_TRUE(store->contains("other"));  // all was taken
  talk.stream.is_read = true;
  talk.run();
  EXPECT_EQ(talk.stream.output, "$2097152\r\n" + large + "\r\n+OK\r\n");
}

TEST_F(KvSessionTest, there_is_a_limit_to_what_waits_for_a_client_that_does_not_read) {
  said_to(command({"SET", "large", bytes_of("large", 8 << 20)}));
  std::string gets;
  for (int i = 0; i < 10000; ++i) gets += command({"GET", "large"});
  Talk talk(service, gets, {4096});
  talk.stream.is_open = true;
  talk.stream.is_read = false;
  talk.run();
  EXPECT_GT(talk.stream.unread_input(), gets.size() / 2);
}

TEST_F(KvSessionTest, what_is_malformed_is_told_and_closed) {
  EXPECT_TRUE(said_to("*1\r\n:5\r\n").starts_with("-ERR Protocol error"));
  EXPECT_EQ(closed_for, KvClose::malformed);
  EXPECT_EQ(said_to(command({"GET", "k"}) + "*x\r\n" + command({"GET", "k"})),
            "$-1\r\n-ERR Protocol error: a length or count is no number\r\n");
}

TEST_F(KvSessionTest, a_command_that_stalls_is_ended_and_an_idle_connection_is_not) {
  Talk talk(service, "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$100\r\nabc");
  talk.stream.is_open = true;
  talk.run();
  EXPECT_FALSE(talk.session.look_at_clock(Time(1s)));
  EXPECT_FALSE(talk.session.look_at_clock(Time(30s)));
  EXPECT_TRUE(talk.session.look_at_clock(Time(32s)));
  EXPECT_EQ(talk.run(), KvSession::Wants::end);
  EXPECT_EQ(talk.session.closed_for(), KvClose::half_sent);

  Talk idle(service, "PING\r\n");
  idle.stream.is_open = true;
  idle.run();
  EXPECT_FALSE(idle.session.look_at_clock(Time(1s)));
  EXPECT_FALSE(idle.session.look_at_clock(Time(10h)));
}

TEST_F(KvSessionTest, a_value_that_crawls_in_is_ended) {
  Talk talk(service, "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$100000000\r\n");
  talk.stream.is_open = true;
  bool is_ended = false;
  for (int second = 0; second < 60 && !is_ended; ++second) {
    talk.stream.add_input("drop by drop");
    talk.run();
    is_ended = talk.session.look_at_clock(Time(std::chrono::seconds(second)));
  }
  EXPECT_TRUE(is_ended);
}

TEST_F(KvSessionTest, a_reply_that_nobody_takes_is_ended) {
  Talk talk(service, command({"PING"}));
  talk.stream.is_open = true;
  talk.stream.is_read = false;
  talk.run();
  EXPECT_FALSE(talk.session.look_at_clock(Time(1s)));
  EXPECT_TRUE(talk.session.look_at_clock(Time(32s)));
  EXPECT_EQ(talk.session.closed_for(), KvClose::unread);
}

TEST_F(KvSessionTest, without_the_password_nothing_is_told_or_kept) {
  service.password = "open sesame";
  EXPECT_EQ(said_to(command({"SET", "k", "v"}) + command({"GET", "k"})),
            "-NOAUTH Authentication required.\r\n-NOAUTH Authentication required.\r\n");
  EXPECT_FALSE(store->contains("k"));
  EXPECT_EQ(said_to(command({"AUTH", "open sesame"}) + command({"SET", "k", "v"})),
            "+OK\r\n+OK\r\n");
  EXPECT_EQ(said_to(command({"AUTH", "default", "open sesame"}) + command({"GET", "k"})),
            "+OK\r\n$1\r\nv\r\n");
  EXPECT_TRUE(said_to(command({"HELLO", "3", "AUTH", "u", "open sesame"})).starts_with("%7\r\n"));
  EXPECT_TRUE(said_to(command({"AUTH", "open"})).starts_with("-WRONGPASS"));
  std::string three;
  for (int i = 0; i < 4; ++i) three += command({"AUTH", "guess"});
  said_to(three + command({"GET", "k"}));
  EXPECT_EQ(closed_for, KvClose::not_authenticated);
  EXPECT_EQ(service.counters.wrong_passwords, 4u);
  said_to("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$50000000\r\n");
  EXPECT_EQ(closed_for, KvClose::not_authenticated);
}

TEST_F(KvSessionTest, who_has_not_said_the_password_in_time_is_ended) {
  service.password = "open sesame";
  Talk stranger(service, command({"PING"})), friendly(service, command({"AUTH", "open sesame"}));
  for (Talk* talk : {&stranger, &friendly}) {
    talk->stream.is_open = true;
    talk->run();
    EXPECT_FALSE(talk->session.look_at_clock(Time(1s)));
  }
  EXPECT_TRUE(stranger.session.look_at_clock(Time(31s)));
  EXPECT_EQ(stranger.session.closed_for(), KvClose::not_authenticated);
  EXPECT_FALSE(friendly.session.look_at_clock(Time(31s)));
}

TEST_F(KvSessionTest, a_client_behind_a_slow_link_is_told_that_there_is_nothing) {
  service.rate = {.prefill_tokens_per_s = 10000, .bytes_per_token = 100000};  // 1 GB/s
  said_to(command({"SET", "k", bytes_of("k", 1 << 20)}));
  auto link = service.links.of("test");
  link->begin(Time(0s));
  link->end(Time(1s), 100'000'000);
  EXPECT_EQ(said_to(command({"GET", "k"}) + command({"EXISTS", "k"}) + command({"GET", "none"})),
            "$-1\r\n:0\r\n$-1\r\n");
  EXPECT_EQ(store->counters().slower_than_computing, 2u);
  service.rate = {};
  EXPECT_EQ(said_to(command({"EXISTS", "k"})), ":1\r\n");
}

TEST_F(KvSessionTest, a_set_may_have_a_life_and_a_condition) {
  EXPECT_EQ(said_to(command({"SET", "k", "v", "NX", "EX", "100"})), "+OK\r\n");
  EXPECT_EQ(said_to(command({"SET", "k", "w", "NX"})), "$-1\r\n");
  EXPECT_EQ(said_to(command({"SET", "none", "w", "XX"})), "$-1\r\n");
  EXPECT_EQ(said_to(command({"SET", "k", "w", "KEEPTTL", "nonsense"})), "+OK\r\n");
  EXPECT_EQ(said_to(command({"GET", "k"})), "$1\r\nv\r\n");  // the first writer wins
}

TEST_F(KvSessionTest, memory_is_reclaimed_and_restored_by_command) {
  std::uint64_t before = store->lent().count;
  EXPECT_EQ(said_to(command({"KV.RECLAIM", "8MiB"}) + command({"PING"})), ":8388608\r\n+PONG\r\n");
  EXPECT_EQ(store->lent().count, before - (8 << 20));
  EXPECT_EQ(said_to(command({"KV.RESTORE", "8MiB"})), "+OK\r\n");
  EXPECT_EQ(store->lent().count, before);
  EXPECT_EQ(service.reclaim.times().count, 1u);
}

// Any row of commands, sane or hostile, gives one whole reply for each, in order: a client that loses count would take
// one value for another.
TEST_F(KvSessionTest, every_command_gets_exactly_one_well_formed_reply) {
  Random random(7);
  for (int round = 0; round < 300; ++round) {
    std::string talk;
    std::size_t commands = 1 + random.below(30);
    for (std::size_t i = 0; i < commands; ++i) {
      std::string key = "k" + std::to_string(random.below(6));
      std::string odd = std::string("\r\n$-1\r\n\0*", 9) + key;
      switch (random.below(12)) {
        case 0:
        case 1:
          talk += command({"SET", key, bytes_of(key, random.below(20'000))});
          break;
        case 2:
          talk += command({"SET", odd, odd, "EX", odd});
          break;
        case 3:
        case 4:
          talk += command({"GET", key});
          break;
        case 5:
          talk += command({"MGET", key, odd, key});
          break;
        case 6:
          talk += command({"DEL", key, odd});
          break;
        case 7:
          talk += command({odd, odd});
          break;
        case 8:
          talk += command({"HELLO", "3"}) + command({"GET", odd});
          ++commands;
          ++i;
          break;
        case 9:
          talk += command({"CONFIG", "GET", "*"});
          break;
        case 10:
          talk += command({"ECHO", odd});
          break;
        case 11:
          talk += command({"GET"});
          break;
      }
    }
    std::vector<std::size_t> sizes;
    for (int i = 0; i < 5; ++i) sizes.push_back(random.below(3000));
    sizes.push_back(1 + random.below(3000));
    auto replies = replies_in(said_to(talk, sizes));
    ASSERT_TRUE(replies.has_value());
    EXPECT_EQ(replies->size(), commands);
  }
}

}  // namespace
}  // namespace specgen
