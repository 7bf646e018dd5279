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
  std::string reply_to(const std::string& input, std::vector<std::size_t> sizes = {}) {
    ScriptedSession session(service, input, std::move(sizes));
    session.run();
    closed_for = session.session.closed_for();
    return session.stream.output;
  }

  std::unique_ptr<KvStore> store = open_store(MiB(32));
  KvService service{*store};
  KvClose closed_for = KvClose::server_ended;
};

TEST_F(KvSessionTest, replies_have_the_exact_bytes_that_native_clients_expect) {
  EXPECT_EQ(reply_to(command({"SET", "k", "value"})), "+OK\r\n");
  EXPECT_EQ(reply_to(command({"GET", "k"})), "$5\r\nvalue\r\n");
  EXPECT_EQ(reply_to(command({"EXISTS", "k"})), ":1\r\n");
  EXPECT_EQ(reply_to(command({"EXISTS", "none"})), ":0\r\n");
  EXPECT_EQ(reply_to(command({"DEL", "k"})), ":1\r\n");
  EXPECT_EQ(reply_to(command({"DEL", "k"})), ":0\r\n");
  EXPECT_EQ(reply_to(command({"GET", "k"})), "$-1\r\n");
}

TEST_F(KvSessionTest, a_value_that_cannot_be_stored_is_dropped_behind_an_ok) {
  std::string huge(40 << 20, 'x');  // more than the store has
  EXPECT_EQ(reply_to(command({"SET", "k", huge})), "+OK\r\n");
  EXPECT_EQ(reply_to(command({"EXISTS", "k"})), ":0\r\n");
  std::string long_key(5000, 'k');
  EXPECT_EQ(reply_to(command({"SET", long_key, "v"}) + command({"GET", long_key})),
            "+OK\r\n$-1\r\n");
}

TEST_F(KvSessionTest, any_split_of_bytes_gives_the_same_replies) {
  std::string large = bytes_of("large", 3'000'001);
  std::string session = command({"SET", "large", large}) + command({"SET", "tiny", "t"}) +
                        command({"GET", "large"}) + command({"MGET", "tiny", "none", "large"}) +
                        command({"GET", "tiny"}) + "PING\r\n";
  std::string expected = "+OK\r\n+OK\r\n$3000001\r\n" + large +
                         "\r\n*3\r\n$1\r\nt\r\n$-1\r\n$3000001\r\n" + large +
                         "\r\n$1\r\nt\r\n+PONG\r\n";
  EXPECT_EQ(reply_to(session), expected);
  EXPECT_EQ(reply_to(session, {1, 0, 100'000, 7}), expected);
  EXPECT_EQ(reply_to(session, {65536, 0, 0, 65537}), expected);
}

TEST_F(KvSessionTest, a_value_is_visible_only_when_complete) {
  std::string set = command({"SET", "k", bytes_of("k", 100'000)});
  EXPECT_EQ(reply_to(set.substr(0, set.size() - 1)), "");
  EXPECT_EQ(closed_for, KvClose::client_left);
  EXPECT_EQ(reply_to(command({"EXISTS", "k"})), ":0\r\n");
}

TEST_F(KvSessionTest, commands_of_a_client_that_does_not_read_are_accepted_without_copying_values) {
  std::string large = bytes_of("large", 2 << 20);
  reply_to(command({"SET", "large", large}));
  ScriptedSession session(service, command({"GET", "large"}) + command({"SET", "other", large}));
  session.stream.is_open = true;
  session.stream.is_read = false;
  session.run();
  EXPECT_TRUE(store->contains("other"));  // all input was handled
  session.stream.is_read = true;
  session.run();
  EXPECT_EQ(session.stream.output, "$2097152\r\n" + large + "\r\n+OK\r\n");
}

TEST_F(KvSessionTest, queued_replies_of_a_client_that_does_not_read_are_limited) {
  reply_to(command({"SET", "large", bytes_of("large", 8 << 20)}));
  std::string gets;
  for (int i = 0; i < 10000; ++i) gets += command({"GET", "large"});
  ScriptedSession session(service, gets, {4096});
  session.stream.is_open = true;
  session.stream.is_read = false;
  session.run();
  EXPECT_GT(session.stream.unread_input(), gets.size() / 2);
}

TEST_F(KvSessionTest, malformed_input_gets_an_error_and_ends_the_connection) {
  EXPECT_TRUE(reply_to("*1\r\n:5\r\n").starts_with("-ERR Protocol error"));
  EXPECT_EQ(closed_for, KvClose::malformed);
  EXPECT_EQ(reply_to(command({"GET", "k"}) + "*x\r\n" + command({"GET", "k"})),
            "$-1\r\n-ERR Protocol error: a length or count is not a number\r\n");
}

TEST_F(KvSessionTest, a_stalled_command_ends_the_connection_and_idleness_does_not) {
  ScriptedSession session(service, "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$100\r\nabc");
  session.stream.is_open = true;
  session.run();
  EXPECT_FALSE(session.session.check_timeouts(Time(1s)));
  EXPECT_FALSE(session.session.check_timeouts(Time(30s)));
  EXPECT_TRUE(session.session.check_timeouts(Time(32s)));
  EXPECT_EQ(session.run(), KvSession::Wants::end);
  EXPECT_EQ(session.session.closed_for(), KvClose::half_sent);

  ScriptedSession idle(service, "PING\r\n");
  idle.stream.is_open = true;
  idle.run();
  EXPECT_FALSE(idle.session.check_timeouts(Time(1s)));
  EXPECT_FALSE(idle.session.check_timeouts(Time(10h)));
}

TEST_F(KvSessionTest, a_very_slow_value_ends_the_connection) {
  ScriptedSession session(service, "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$100000000\r\n");
  session.stream.is_open = true;
  bool is_ended = false;
  for (int second = 0; second < 60 && !is_ended; ++second) {
    session.stream.add_input("drop by drop");
    session.run();
    is_ended = session.session.check_timeouts(Time(std::chrono::seconds(second)));
  }
  EXPECT_TRUE(is_ended);
}

TEST_F(KvSessionTest, an_unread_reply_ends_the_connection) {
  ScriptedSession session(service, command({"PING"}));
  session.stream.is_open = true;
  session.stream.is_read = false;
  session.run();
  EXPECT_FALSE(session.session.check_timeouts(Time(1s)));
  EXPECT_TRUE(session.session.check_timeouts(Time(32s)));
  EXPECT_EQ(session.session.closed_for(), KvClose::unread);
}

TEST_F(KvSessionTest, without_the_password_nothing_is_returned_or_stored) {
  service.password = "open sesame";
  EXPECT_EQ(reply_to(command({"SET", "k", "v"}) + command({"GET", "k"})),
            "-NOAUTH Authentication required.\r\n-NOAUTH Authentication required.\r\n");
  EXPECT_FALSE(store->contains("k"));
  EXPECT_EQ(reply_to(command({"AUTH", "open sesame"}) + command({"SET", "k", "v"})),
            "+OK\r\n+OK\r\n");
  EXPECT_EQ(reply_to(command({"AUTH", "default", "open sesame"}) + command({"GET", "k"})),
            "+OK\r\n$1\r\nv\r\n");
  EXPECT_TRUE(reply_to(command({"HELLO", "3", "AUTH", "u", "open sesame"})).starts_with("%7\r\n"));
  EXPECT_TRUE(reply_to(command({"AUTH", "open"})).starts_with("-WRONGPASS"));
  std::string three;
  for (int i = 0; i < 4; ++i) three += command({"AUTH", "guess"});
  reply_to(three + command({"GET", "k"}));
  EXPECT_EQ(closed_for, KvClose::not_authenticated);
  EXPECT_EQ(service.counters.wrong_passwords, 4u);
  reply_to("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$50000000\r\n");
  EXPECT_EQ(closed_for, KvClose::not_authenticated);
}

TEST_F(KvSessionTest, a_late_password_ends_the_connection) {
  service.password = "open sesame";
  ScriptedSession stranger(service, command({"PING"})),
      friendly(service, command({"AUTH", "open sesame"}));
  for (ScriptedSession* session : {&stranger, &friendly}) {
    session->stream.is_open = true;
    session->run();
    EXPECT_FALSE(session->session.check_timeouts(Time(1s)));
  }
  EXPECT_TRUE(stranger.session.check_timeouts(Time(31s)));
  EXPECT_EQ(stranger.session.closed_for(), KvClose::not_authenticated);
  EXPECT_FALSE(friendly.session.check_timeouts(Time(31s)));
}

TEST_F(KvSessionTest, a_client_behind_a_slow_link_gets_misses) {
  service.rate = {.prefill_tokens_per_s = 10000, .bytes_per_token = 100000};  // 1 GB/s
  reply_to(command({"SET", "k", bytes_of("k", 1 << 20)}));
  auto link = service.links.of("test");
  link->begin(Time(0s));
  link->end(Time(1s), 100'000'000);
  EXPECT_EQ(reply_to(command({"GET", "k"}) + command({"EXISTS", "k"}) + command({"GET", "none"})),
            "$-1\r\n:0\r\n$-1\r\n");
  EXPECT_EQ(store->counters().slower_than_computing, 2u);
  service.rate = {};
  EXPECT_EQ(reply_to(command({"EXISTS", "k"})), ":1\r\n");
}

TEST_F(KvSessionTest, a_set_may_have_a_time_to_live_and_a_condition) {
  EXPECT_EQ(reply_to(command({"SET", "k", "v", "NX", "EX", "100"})), "+OK\r\n");
  EXPECT_EQ(reply_to(command({"SET", "k", "w", "NX"})), "$-1\r\n");
  EXPECT_EQ(reply_to(command({"SET", "none", "w", "XX"})), "$-1\r\n");
  EXPECT_EQ(reply_to(command({"SET", "k", "w", "KEEPTTL", "unknown"})), "+OK\r\n");
  EXPECT_EQ(reply_to(command({"GET", "k"})), "$1\r\nv\r\n");  // the first writer wins
}

TEST_F(KvSessionTest, memory_is_reclaimed_and_restored_by_command) {
  std::uint64_t before = store->capacity().count;
  EXPECT_EQ(reply_to(command({"KV.RECLAIM", "8MiB"}) + command({"PING"})), ":8388608\r\n+PONG\r\n");
  EXPECT_EQ(store->capacity().count, before - (8 << 20));
  EXPECT_EQ(reply_to(command({"KV.RESTORE", "8MiB"})), "+OK\r\n");
  EXPECT_EQ(store->capacity().count, before);
  EXPECT_EQ(service.reclaim.times().count, 1u);
}

// Any sequence of commands, valid or hostile, gets one complete reply each, in order: a client that loses count would
// take one value for another.
TEST_F(KvSessionTest, every_command_gets_exactly_one_well_formed_reply) {
  Random random(7);
  for (int round = 0; round < 300; ++round) {
    std::string session;
    std::size_t commands = 1 + random.below(30);
    for (std::size_t i = 0; i < commands; ++i) {
      std::string key = "k" + std::to_string(random.below(6));
      std::string odd = std::string("\r\n$-1\r\n\0*", 9) + key;
      switch (random.below(12)) {
        case 0:
        case 1:
          session += command({"SET", key, bytes_of(key, random.below(20'000))});
          break;
        case 2:
          session += command({"SET", odd, odd, "EX", odd});
          break;
        case 3:
        case 4:
          session += command({"GET", key});
          break;
        case 5:
          session += command({"MGET", key, odd, key});
          break;
        case 6:
          session += command({"DEL", key, odd});
          break;
        case 7:
          session += command({odd, odd});
          break;
        case 8:
          session += command({"HELLO", "3"}) + command({"GET", odd});
          ++commands;
          ++i;
          break;
        case 9:
          session += command({"CONFIG", "GET", "*"});
          break;
        case 10:
          session += command({"ECHO", odd});
          break;
        case 11:
          session += command({"GET"});
          break;
      }
    }
    std::vector<std::size_t> sizes;
    for (int i = 0; i < 5; ++i) sizes.push_back(random.below(3000));
    sizes.push_back(1 + random.below(3000));
    auto replies = replies_in(reply_to(session, sizes));
    ASSERT_TRUE(replies.has_value());
    EXPECT_EQ(replies->size(), commands);
  }
}

}  // namespace
}  // namespace specgen
