// A gateway and its nodes as processes, under load, while a node is killed and restarted: clients see misses only.

#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <thread>

#include "base/temporary_folder.h"
#include "kvcache/kv_testing.h"
#include "kvcache/node_client.h"
#include "runtime/subprocess.h"
#include "runtime/testing.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;
using kv_testing::bytes_of;

constexpr std::size_t kValueBytes = 300'000;
constexpr int kClients = 4;

class KvGatewayKill : public testing::Test {
 protected:
  std::string place(const std::string& name) const {
    return "unix:" + (folder_.path() / name).string();
  }

  Process start(std::vector<std::string> argv) {
    return processes_.spawn({.argv = std::move(argv)}).value();
  }
  Process start_node(const std::string& name) {
    return start({SPECGEN_NODE_BINARY, "--kv", "256MiB", "--kv-listen", place(name)});
  }

  NodeClient connect(const std::string& address) {
    while (true) {
      auto client = NodeClient::connect(parse_kv_address(address).value());
      if (client) return std::move(*client);
      runtime_.loop.run(nap(runtime_.loop, 10ms));
    }
  }

  struct Seen {
    std::atomic<int> hits = 0, misses = 0, wrong = 0, errors = 0;
  };

  // Stores and fetches chunks of synthetic prompts over one connection.
  static void load(NodeClient client, int number, const std::atomic<bool>& stop, Seen& seen) {
    for (int turn = 0; !stop; ++turn) {
      // Few enough to fit into the memory that a node has ready at its start. Models alternate, so that each chunk is a
      // chain of its own and both nodes get some.
      std::string key = (turn % 2 == 0 ? "llama@00000001@0@" : "qwen@00000001@0@") +
                        std::to_string(1000 * number + turn % 40) + "@t";
      auto stored = client.set(key, bytes_of(key, kValueBytes));
      auto came = client.get(key);
      if (!stored || !came || !client.exists(key)) {
        ++seen.errors;
        return;
      }
      if (!*came) {
        ++seen.misses;
      } else {
        ++(**came == bytes_of(key, kValueBytes) ? seen.hits : seen.wrong);
      }
    }
  }

  TemporaryFolder folder_ = TemporaryFolder::make().value();
  RealRuntime runtime_;
  Processes processes_{runtime_.loop, runtime_.driver};
};

TEST_F(KvGatewayKill, requests_to_a_killed_node_are_misses) {
  Process first = start_node("first"), second = start_node("second");
  connect(place("first"));
  connect(place("second"));
  Process gateway = start({SPECGEN_BINARY, "kv", "gateway", "--listen", place("gateway"), "--node",
                           place("first"), "--node", place("second")});
  connect(place("gateway"));

  Seen seen;
  std::atomic<bool> stop = false;
  std::vector<std::thread> clients;
  for (int i = 0; i < kClients; ++i) {
    clients.emplace_back(load, connect(place("gateway")), i, std::cref(stop), std::ref(seen));
  }
  auto wait_for = [&](auto happened) {
    for (int i = 0; i < 3000 && !happened(); ++i) runtime_.loop.run(nap(runtime_.loop, 10ms));
    return happened();
  };
  EXPECT_TRUE(wait_for([&] { return seen.hits > 50; }));
  EXPECT_EQ(seen.misses, 0);

  NodeClient client = connect(place("gateway"));
  auto is_up = [&] {
    std::string stats = client.request({"KV.STATS"}).value();
    return stats.contains("node_up{node=\"" + place("first") + "\"} 1");
  };
  EXPECT_TRUE(wait_for(is_up));
  ::kill(first.pid(), SIGKILL);
  EXPECT_TRUE(wait_for([&] { return !is_up() && seen.misses > 20; }));
  int hits = seen.hits;
  EXPECT_TRUE(wait_for([&] { return seen.hits > hits + 20; })) << "the other node still serves";

  // The node is back: a client that requests all of its values gets them.
  Process again = start_node("first");
  connect(place("first"));
  auto all_hit = [&] {
    bool all = true;
    for (int i = 0; i < 24; ++i) {
      std::string key = "key:" + std::to_string(i);
      EXPECT_TRUE(client.set(key, bytes_of(key, 5000)));
      auto came = client.get(key);
      EXPECT_TRUE(came) << came.error().text();
      if (came && *came) EXPECT_EQ(**came, bytes_of(key, 5000));
      all = all && came && *came;
    }
    return all;
  };
  NodeClient node = connect(place("first"));
  EXPECT_TRUE(wait_for([&] { return all_hit() && node.request({"DBSIZE"}).value() != "0"; }));

  stop = true;
  for (std::thread& thread : clients) thread.join();
  EXPECT_EQ(seen.errors, 0);
  EXPECT_EQ(seen.wrong, 0);
  std::string stats = client.request({"KV.STATS"}).value();
  EXPECT_NE(stats.find("alarms_total 0\n"), std::string::npos) << stats;
}

}  // namespace
}  // namespace specgen
