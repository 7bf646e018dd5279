// A gateway and its nodes in one process: distribution of values, seals, and lost nodes.

#include <gtest/gtest.h>

#include "base/temporary_folder.h"
#include "kvcache/kv_gateway.h"
#include "kvcache/kv_server.h"
#include "kvcache/kv_testing.h"
#include "kvcache/node_client.h"
#include "kvcache/node_link.h"
#include "kvcache/sealed_value.h"

namespace specgen {
namespace {

using kv_testing::bytes_of;

struct TestNode {
  std::unique_ptr<KvStore> store = kv_testing::open_store(MiB(64));
  std::unique_ptr<KvServer> server;
  explicit TestNode(const std::string& listen = "127.0.0.1:0", std::string password = {}) {
    KvServerSettings settings;
    settings.listen = listen;
    settings.threads = 1;
    settings.password = std::move(password);
    server = KvServer::start(*store, settings).value();
  }
};

NodeClient client_of(const std::string& address) {
  auto client = NodeClient::connect(parse_kv_address(address).value());
  EXPECT_TRUE(client) << client.error().text();
  return std::move(*client);
}

struct Fixture {
  TestNode first, second;
  std::unique_ptr<KvGateway> gateway =
      KvGateway::start({.listen = "127.0.0.1:0",
                        .nodes = {first.server->address(), second.server->address()},
                        .threads = 2})
          .value();
  NodeClient client = client_of(gateway->address());

  bool has_stat(std::string_view line) const {
    return gateway->stats().find(line) != std::string::npos;
  }
};

TEST(Gateway, returns_stored_values_from_many_nodes) {
  Fixture fixture;
  for (int i = 0; i < 40; ++i) {
    std::string key = "key:" + std::to_string(i);
    ASSERT_TRUE(fixture.client.set(key, bytes_of(key, 100'000 + static_cast<std::size_t>(i))));
  }
  for (int i = 0; i < 40; ++i) {
    std::string key = "key:" + std::to_string(i);
    EXPECT_EQ(fixture.client.get(key).value(),
              bytes_of(key, 100'000 + static_cast<std::size_t>(i)));
    EXPECT_TRUE(fixture.client.exists(key).value());
  }
  EXPECT_GT(fixture.first.store->size(), 5U);
  EXPECT_GT(fixture.second.store->size(), 5U);
  EXPECT_EQ(fixture.client.request({"DBSIZE"}).value(), "40");
  EXPECT_TRUE(fixture.client.remove("key:7").value());
  EXPECT_FALSE(fixture.client.get("key:7").value());
  EXPECT_FALSE(fixture.client.exists("key:7").value());
  EXPECT_EQ(fixture.client.request({"FLUSHDB"}).value(), "OK");
  EXPECT_EQ(fixture.first.store->size() + fixture.second.store->size(), 0U);
}

TEST(Gateway, accepts_values_of_any_size) {
  Fixture fixture;
  for (std::size_t bytes : {0, 1, 15, 16, 17, 300'000, 20 << 20}) {
    std::string key = "size" + std::to_string(bytes);
    ASSERT_TRUE(fixture.client.set(key, bytes_of(key, bytes)));
    auto came = fixture.client.get(key).value();
    ASSERT_TRUE(came) << bytes;
    EXPECT_TRUE(*came == bytes_of(key, bytes)) << bytes;
  }
}

TEST(Gateway, keeps_the_chunks_of_a_prompt_on_one_node) {
  Fixture fixture;
  for (int i = 0; i < 30; ++i) {
    std::string key = "llama@00000001@0@" + std::to_string(1000 + i * 7919) + "@task";
    ASSERT_TRUE(fixture.client.set(key, "chunk"));
  }
  std::size_t here = fixture.first.store->size(), there = fixture.second.store->size();
  EXPECT_TRUE((here == 30 && there == 0) || (here == 0 && there == 30)) << here << " and " << there;
}

TEST(Gateway, clients_of_a_node_and_of_the_gateway_do_not_see_each_others_values) {
  Fixture fixture;
  NodeClient direct = client_of(fixture.first.server->address());
  NodeClient other = client_of(fixture.second.server->address());
  ASSERT_TRUE(fixture.client.set("k", "through the gateway"));
  EXPECT_FALSE(direct.get("k").value());
  EXPECT_FALSE(other.get("k").value());
  ASSERT_TRUE(direct.set("d", "directly"));
  ASSERT_TRUE(other.set("d", "directly"));
  EXPECT_FALSE(fixture.client.get("d").value());
  EXPECT_TRUE(fixture.has_stat("alarms_total 0\n"));
}

TEST(Gateway, a_value_with_a_wrong_seal_is_a_miss_and_an_alarm) {
  Fixture fixture;
  ASSERT_TRUE(fixture.client.set("a", std::string(1000, 'a')));
  // b gets the bytes of a with the seal of a; c gets bytes without a seal.
  NodeClient first = client_of(fixture.first.server->address()),
             second = client_of(fixture.second.server->address());
  auto sealed = first.get(sealed_key("a")).value();
  if (!sealed) sealed = second.get(sealed_key("a")).value();
  ASSERT_TRUE(sealed);
  for (NodeClient* node : {&first, &second}) {
    ASSERT_TRUE(node->set(sealed_key("b"), *sealed));
    ASSERT_TRUE(node->set(sealed_key("c"), std::string(1000, 'c')));
    ASSERT_TRUE(node->set(sealed_key("d"), "short"));
  }
  for (const char* key : {"b", "c", "d"}) EXPECT_FALSE(fixture.client.get(key).value()) << key;
  EXPECT_TRUE(fixture.has_stat("alarms_total 3\n")) << fixture.gateway->stats();
  // It was deleted, so that the right value can be stored.
  ASSERT_TRUE(fixture.client.set("b", "right"));
  EXPECT_EQ(fixture.client.get("b").value(), "right");
  EXPECT_EQ(fixture.client.get("a").value(), std::string(1000, 'a'));
}

TEST(Gateway, requests_to_a_lost_node_are_misses_until_it_is_back) {
  auto folder = TemporaryFolder::make().value();
  std::string place = "unix:" + (folder.path() / "node").string();
  auto node = std::make_unique<TestNode>(place);
  auto gateway =
      KvGateway::start({.listen = "127.0.0.1:0", .nodes = {place}, .threads = 1}).value();
  NodeClient client = client_of(gateway->address());
  ASSERT_TRUE(client.set("k", "value"));
  ASSERT_EQ(client.get("k").value(), "value");
  node.reset();
  EXPECT_FALSE(client.get("k").value());
  EXPECT_FALSE(client.exists("k").value());
  EXPECT_FALSE(client.remove("k").value());
  EXPECT_TRUE(client.set("k", std::string(3 << 20, 'v')));
  EXPECT_EQ(client.request({"PING"}).value(), "PONG");
  node = std::make_unique<TestNode>(place);
  bool hit = false;
  for (int i = 0; i < 100'000 && !hit; ++i) {
    ASSERT_TRUE(client.set("again", "value"));
    hit = client.get("again").value() == "value";
  }
  EXPECT_TRUE(hit);
}

TEST(Gateway, a_long_lost_node_is_tried_periodically) {
  using namespace std::chrono_literals;
  auto node = GatewayNode::find(parse_kv_address("unix:/nowhere").value(), 1).value();
  const Time begin(1h);
  EXPECT_TRUE(node->is_usable(begin));
  node->begin_try(begin);
  EXPECT_TRUE(node->may_try(begin)) << "it is not lost: every session may";
  node->lost(begin);
  EXPECT_FALSE(node->may_try(begin));
  EXPECT_TRUE(node->is_usable(begin + 4s)) << "it may be starting again";
  node->begin_try(begin + 5s);
  EXPECT_FALSE(node->is_usable(begin + 6s))
      << "other nodes have its chains, and one session is trying it";
  EXPECT_TRUE(node->is_usable(begin + 7s)) << "no answer yet, so the next session may try";
  node->begin_try(begin + 7s);
  node->lost(begin + 8s);
  EXPECT_FALSE(node->is_usable(begin + 8s));
  EXPECT_TRUE(node->is_usable(begin + 10s));
  node->reached();
  EXPECT_TRUE(node->is_usable(begin + 8s));
}

TEST(Gateway, answers_mget_in_order) {
  Fixture fixture;
  for (const char* key : {"x", "y", "z"}) ASSERT_TRUE(fixture.client.set(key, key));
  EXPECT_EQ(fixture.client.request({"EXISTS", "x", "nothing", "z", "x"}).value(), "3");
  EXPECT_EQ(fixture.client.request({"DEL", "x", "nothing", "z"}).value(), "2");
  EXPECT_EQ(fixture.client.request({"MGET", "x", "y"}).value(), "2");
  // This client reads the two parts of that reply as the replies to its next requests.
  EXPECT_FALSE(fixture.client.get("y").value());
  EXPECT_EQ(fixture.client.get("x").value(), "y");
}

TEST(Gateway, uses_the_password_of_its_nodes) {
  TestNode node("127.0.0.1:0", "secret");
  auto gateway = KvGateway::start({.listen = "127.0.0.1:0",
                                   .nodes = {node.server->address() + ",weight=3"},
                                   .threads = 1,
                                   .password = "secret"})
                     .value();
  NodeClient client = client_of(gateway->address());
  ASSERT_TRUE(client.set("k", "value"));
  EXPECT_EQ(client.get("k").value(), "value");
  auto wrong = KvGateway::start({.listen = "127.0.0.1:0",
                                 .nodes = {node.server->address()},
                                 .threads = 1,
                                 .password = "no"})
                   .value();
  NodeClient other = client_of(wrong->address());
  EXPECT_TRUE(other.set("k2", "value"));
  EXPECT_FALSE(other.get("k").value());
}

TEST(Gateway, reports_invalid_nodes) {
  EXPECT_EQ(KvGateway::start({.listen = "127.0.0.1:0", .nodes = {}}).error().code,
            ErrorCode::bad_usage);
  for (const char* node :
       {"nowhere", "a:b", "127.0.0.1:1,weight=0", "127.0.0.1:1,weight=x", "127.0.0.1:1,weight="}) {
    auto gateway = KvGateway::start({.listen = "127.0.0.1:0", .nodes = {node}});
    ASSERT_FALSE(gateway) << node;
    EXPECT_EQ(gateway.error().code, ErrorCode::bad_usage) << node;
  }
  auto open = KvGateway::start({.listen = "0.0.0.0:0", .nodes = {"127.0.0.1:1"}});
  ASSERT_FALSE(open);
  EXPECT_EQ(open.error().code, ErrorCode::bad_usage);
}

}  // namespace
}  // namespace specgen
