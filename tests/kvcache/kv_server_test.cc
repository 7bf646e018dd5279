#include "kvcache/kv_server.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <thread>

#include "base/random.h"
#include "base/temporary_folder.h"
#include "kvcache/kv_test_client.h"
#include "kvcache/kv_testing.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;
using namespace kv_testing;

class KvServerTest : public testing::Test {
 protected:
  void serve(KvServerSettings settings = {}, Bytes memory = MiB(64)) {
    store = open_store(memory);
    if (settings.listen.empty()) settings.listen = "127.0.0.1:0";
    settings.threads = 2;
    auto started = KvServer::start(*store, std::move(settings));
    ASSERT_TRUE(started.has_value()) << started.error().text();
    server = std::move(*started);
  }
  NativeClient client() { return NativeClient::to_port(server->port()); }
  std::uint64_t closed(KvClose reason) {
    return server->service().counters.closed[static_cast<std::size_t>(reason)];
  }
  // Counters may be updated after the client has its reply.
  void expect_closed(KvClose reason, std::uint64_t times) {
    for (int i = 0; i < 1000 && closed(reason) < times; ++i) std::this_thread::sleep_for(10ms);
    EXPECT_EQ(closed(reason), times);
  }

  std::unique_ptr<KvStore> store;
  std::unique_ptr<KvServer> server;
};

TEST_F(KvServerTest, serves_many_blocking_clients_that_count_bytes) {
  serve();
  constexpr std::size_t kClients = 8, kRounds = 20, kBytes = 300'000;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kClients; ++i) {
    threads.emplace_back([&, i] {
      NativeClient mine = client();
      for (std::size_t round = 0; round < kRounds; ++round) {
        std::string shared = "model@00000001@0@" + std::to_string(round);
        std::string value = bytes_of(shared, kBytes);
        wrong += !mine.set(shared, value);
        // Another client may be writing it first.
        auto found = mine.get(shared, kBytes);
        wrong += found && *found != value;
        std::string own = shared + "@own" + std::to_string(i);
        wrong += mine.exists(own) != false;
        wrong += !mine.set(own, value);
        wrong += mine.exists(own) != true;
        wrong += mine.get(own, kBytes) != value;
        wrong += mine.del(own) != true;
        wrong += mine.get(own, kBytes).has_value();
        wrong += mine.is_broken;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(KvServerTest, returns_a_value_of_eighty_megabytes) {
  serve({}, MiB(192));
  std::string value = bytes_of("large", 80 << 20);
  NativeClient mine = client();
  EXPECT_TRUE(mine.set("large", value));
  EXPECT_TRUE(mine.get("large", value.size()) == value);
  EXPECT_TRUE(mine.get("large", value.size()) == value);
}

TEST_F(KvServerTest, a_pipeline_is_answered_in_order) {
  serve();
  NativeClient mine = client();
  std::string value = bytes_of("v", 100'000), commands, expected;
  for (int i = 0; i < 200; ++i) {
    std::string key = std::to_string(i);
    commands += "*3\r\n$3\r\nSET\r\n$" + std::to_string(key.size()) + "\r\n" + key +
                "\r\n$100000\r\n" + value + "\r\n*2\r\n$3\r\nGET\r\n$" +
                std::to_string(key.size()) + "\r\n" + key + "\r\n";
    expected += "+OK\r\n$100000\r\n" + value + "\r\n";
  }
  // Sends everything before it reads: 20 MB each way.
  mine.send(commands);
  EXPECT_TRUE(mine.receive(expected.size()) == expected);
}

TEST_F(KvServerTest, memory_is_reclaimed_under_load_and_no_byte_is_wrong) {
  serve({}, MiB(128));
  constexpr std::size_t kBytes = 1 << 20;
  std::atomic<bool> is_over = false;
  std::atomic<int> wrong = 0, hits = 0, misses = 0;
  std::vector<std::thread> threads;
  for (std::uint64_t i = 0; i < 6; ++i) {
    threads.emplace_back([&, i] {
      NativeClient mine = client();
      Random random(i);
      while (!is_over) {
        std::string key = std::to_string(random.below(150));
        auto value = mine.get(key, kBytes);
        (value ? hits : misses) += 1;
        if (value) {
          wrong += *value != bytes_of(key, kBytes);
        } else {
          wrong += !mine.set(key, bytes_of(key, kBytes));
        }
        if (mine.is_broken) break;
      }
      wrong += mine.is_broken;
    });
  }
  for (int i = 0; i < 30; ++i) {
    Bytes taken = server->service().reclaim.reclaim(MiB(48));
    EXPECT_EQ(taken, MiB(48));
    std::this_thread::sleep_for(10ms);
    store->restore(taken);
    std::this_thread::sleep_for(20ms);
  }
  is_over = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(hits, 0);
  EXPECT_GT(misses, 0);
  EXPECT_EQ(store->counters().alarms, 0u);
  EXPECT_EQ(server->service().reclaim.times().count, 30u);
}

TEST_F(KvServerTest, misbehaving_clients_are_closed_with_a_reason_and_others_continue) {
  KvServerSettings settings;
  settings.limits.stalled = 1s;
  serve(std::move(settings));
  NativeClient good = client();
  std::string value = bytes_of("k", 8 << 20);
  ASSERT_TRUE(good.set("k", value));

  NativeClient malformed = client(), lying = client(), half_sent = client(), unread = client();
  malformed.send("*3\r\n$3\r\nSET\r\n+what\r\n");
  lying.send("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$99999999999\r\n");
  half_sent.send("*3\r\n$3\r\nSET\r\n$4\r\nhalf\r\n$1000000\r\nonly this");
  for (int i = 0; i < 8; ++i) unread.send("*2\r\n$3\r\nGET\r\n$1\r\nk\r\n");
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(good.get("k", value.size()) == value);
  EXPECT_TRUE(malformed.is_closed());
  EXPECT_TRUE(lying.is_closed());
  EXPECT_TRUE(half_sent.is_closed());
  expect_closed(KvClose::unread, 1);
  EXPECT_TRUE(good.get("k", value.size()) == value);
  EXPECT_FALSE(good.is_broken);
  EXPECT_EQ(closed(KvClose::malformed), 2u);
  EXPECT_EQ(closed(KvClose::half_sent), 1u);
  EXPECT_FALSE(store->contains("half"));
}

TEST_F(KvServerTest, connections_are_limited_and_closing_one_admits_another) {
  KvServerSettings settings;
  settings.limits.connections = 3;
  serve(std::move(settings));
  std::vector<NativeClient> clients;
  for (int i = 0; i < 3; ++i) {
    clients.push_back(client());
    EXPECT_EQ(clients.back().exists("k"), false);
  }
  NativeClient fourth = client();
  EXPECT_TRUE(fourth.is_closed());
  expect_closed(KvClose::too_many, 1);
  clients.pop_back();
  expect_closed(KvClose::client_left, 1);
  EXPECT_EQ(client().exists("k"), false);
}

std::size_t resident_bytes() {
  auto statm = read_file("/proc/self/statm");
  std::size_t pages = std::stoul(statm->substr(statm->find(' ') + 1));
  return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

TEST_F(KvServerTest, idle_connections_cost_little) {
  constexpr std::size_t kConnections = 3000;  // kv_clients_test.cc has ten thousand
  TemporaryFolder folder = std::move(*TemporaryFolder::make());
  KvServerSettings settings;
  settings.listen = "unix:" + (folder.path() / "kv.sock").string();
  serve(std::move(settings));
  std::vector<NativeClient> clients;
  clients.reserve(kConnections);
  auto add = [&](std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      clients.push_back(NativeClient::to_path(folder.path() / "kv.sock"));
      ASSERT_TRUE(clients.back().set("model@00000001@0@" + std::to_string(i), "v"));
    }
  };
  add(1000);
  std::size_t before = resident_bytes();
  add(kConnections - 1000);
  std::size_t each = (resident_bytes() - before) / (kConnections - 1000);
  RecordProperty("bytes_for_an_idle_connection", static_cast<int>(each));
#if !__has_feature(thread_sanitizer) && \
    !__has_feature(address_sanitizer)  // which need memory of their own
  EXPECT_LT(each, 4096u);
#endif
  EXPECT_EQ(server->service().counters.open, kConnections);
  EXPECT_EQ(clients.front().exists("none"), false);
  EXPECT_EQ(clients.back().exists("none"), false);
}

TEST_F(KvServerTest, a_local_socket_is_private_and_removed_with_the_server) {
  TemporaryFolder folder = std::move(*TemporaryFolder::make());
  std::string path = folder.path() / "kv.sock";
  KvServerSettings settings;
  settings.listen = "unix:" + path;
  serve(settings);
  struct stat file{};
  ASSERT_EQ(::stat(path.c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0600u);
  EXPECT_TRUE(NativeClient::to_path(path).set("k", "v"));
  EXPECT_FALSE(KvServer::start(*store, settings).has_value());  // the address is in use
  server.reset();
  EXPECT_NE(::stat(path.c_str(), &file), 0);
}

TEST_F(KvServerTest, other_hosts_need_is_open_and_a_password) {
  store = open_store(MiB(32));
  auto closed_door = KvServer::start(*store, {.listen = "0.0.0.0:0"});
  ASSERT_FALSE(closed_door.has_value());
  EXPECT_TRUE(closed_door.error().text().contains("--kv-open"));
  auto no_password = KvServer::start(*store, {.listen = "0.0.0.0:0", .is_open = true});
  ASSERT_FALSE(no_password.has_value());
  EXPECT_TRUE(no_password.error().text().contains("--kv-password-file"));
  auto open_metrics = KvServer::start(*store, {.listen = "127.0.0.1:0", .metrics = "0.0.0.0:0"});
  EXPECT_FALSE(open_metrics.has_value());
  EXPECT_TRUE(KvServer::start(*store, {.listen = "0.0.0.0:0", .is_open = true, .password = "p"})
                  .has_value());
}

TEST_F(KvServerTest, a_link_is_measured_by_fetches_and_declined_if_computing_is_faster) {
  KvServerSettings settings;
  settings.rate = {.prefill_tokens_per_s = 1e9, .bytes_per_token = 1e6};  // faster than any link
  serve(std::move(settings));
  NativeClient mine = client();
  std::string value = bytes_of("k", 4 << 20);
  ASSERT_TRUE(mine.set("k", value));
  int fetched = 0;
  while (fetched < 100 && mine.get("k", value.size())) ++fetched;
  EXPECT_GE(fetched, 2);  // the rate is unknown before 8 MiB have been sent
  EXPECT_LT(fetched, 100);
  EXPECT_FALSE(mine.is_broken);
  EXPECT_EQ(mine.exists("k"), false);
  EXPECT_EQ(store->counters().slower_than_computing, 2u);
  auto rates = server->service().links.rates();
  ASSERT_TRUE(rates.contains("127.0.0.1"));
  EXPECT_GT(rates["127.0.0.1"], 1e6);
}

TEST_F(KvServerTest, the_counters_are_served_over_http) {
  KvServerSettings settings;
  settings.metrics = "127.0.0.1:0";
  serve(std::move(settings));
  ASSERT_TRUE(client().set("k", "v"));
  auto asked = [&](std::string_view request) {
    NativeClient http = NativeClient::to_port(server->metrics_port());
    http.send(request);
    return http.receive(1 << 20);
  };
  std::string page = asked("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(page.starts_with("HTTP/1.1 200 OK\r\n"));
  EXPECT_TRUE(page.contains("specgen_kv_sets_total 1\n"));
  EXPECT_TRUE(page.contains("specgen_kv_reclaim_seconds_bucket{le=\"0.05\"} 0\n"));
  EXPECT_TRUE(asked("GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404"));
  EXPECT_TRUE(asked("POST /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405"));
}

TEST_F(KvServerTest, ends_while_clients_are_active) {
  serve();
  NativeClient idle = client(), sending = client(), reading = client();
  ASSERT_TRUE(reading.set("k", bytes_of("k", 8 << 20)));
  sending.send("*3\r\n$3\r\nSET\r\n$4\r\nhalf\r\n$1000000\r\nonly this");
  reading.send("*2\r\n$3\r\nGET\r\n$1\r\nk\r\n");
  reading.send("*2\r\n$10\r\nKV.RECLAIM\r\n$5\r\n10MiB\r\n");
  ASSERT_EQ(idle.exists("k"), true);
  server.reset();
  EXPECT_TRUE(idle.is_closed());
}

}  // namespace
}  // namespace specgen
