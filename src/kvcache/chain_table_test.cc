#include "kvcache/chain_table.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace specgen {
namespace {

using namespace std::chrono_literals;

std::vector<RankedNode> nodes_with(std::vector<double> weights) {
  std::vector<RankedNode> nodes;
  for (double weight : weights)
    nodes.push_back({hash_of("node" + std::to_string(nodes.size())), weight, true});
  return nodes;
}

std::vector<int> shares(const std::vector<RankedNode>& nodes, int keys) {
  std::vector<int> counts(nodes.size());
  for (int i = 0; i < keys; ++i) ++counts[rank_highest(hash_of("key" + std::to_string(i)), nodes)];
  return counts;
}

TEST(Rendezvous, nodes_get_keys_in_proportion_to_their_weights) {
  auto counts = shares(nodes_with({1, 2, 1}), 40000);
  EXPECT_NEAR(counts[0], 10000, 500);
  EXPECT_NEAR(counts[1], 20000, 700);
  EXPECT_NEAR(counts[2], 10000, 500);
}

TEST(Rendezvous, removing_a_node_moves_only_its_own_keys) {
  auto nodes = nodes_with({1, 1, 1});
  auto without = nodes;
  without[1].usable = false;
  for (int i = 0; i < 5000; ++i) {
    std::uint64_t key = hash_of("key" + std::to_string(i));
    std::size_t before = rank_highest(key, nodes), after = rank_highest(key, without);
    EXPECT_NE(after, 1U);
    if (before != 1) EXPECT_EQ(before, after);
  }
}

TEST(Rendezvous, without_a_usable_node_the_choice_does_not_change) {
  auto nodes = nodes_with({1, 1});
  std::size_t chosen = rank_highest(7, nodes);
  for (RankedNode& node : nodes) node.usable = false;
  EXPECT_EQ(rank_highest(7, nodes), chosen);
}

std::string chunk(std::string_view prompt, int number, std::string_view task = "t") {
  std::string hash = std::to_string(hash_of(std::string(prompt) + std::to_string(number)));
  return "llama@00000001@0@" + hash + "@" + std::string(task);
}

TEST(Chains, successive_keys_of_a_connection_are_one_recorded_chain) {
  ChainTable table;
  ChainFollower writer(table);
  std::uint64_t chain = writer.chain_of(chunk("a", 0), Time(0s));
  for (int i = 1; i < 20; ++i) EXPECT_EQ(writer.chain_of(chunk("a", i), Time(i * 1ms)), chain);
  // Another connection that requests a part from the middle.
  ChainFollower reader(table);
  for (int i = 7; i < 12; ++i) EXPECT_EQ(reader.chain_of(chunk("a", i), Time(5s)), chain);
  EXPECT_EQ(reader.chain_of(chunk("a", 30), Time(5s)), chain);
}

TEST(Chains, the_parts_of_a_pair_have_one_chain) {
  ChainTable table;
  ChainFollower writer(table), reader(table);
  std::string key = "llama@1@0@abc@bf16";
  EXPECT_EQ(writer.chain_of(key + "kv_bytes", Time(0s)),
            reader.chain_of(key + "metadata", Time(9s)));
}

TEST(Chains, another_task_a_pause_or_too_many_keys_begin_a_chain) {
  ChainTable table;
  ChainFollower writer(table);
  std::set<std::uint64_t> chains;
  chains.insert(writer.chain_of(chunk("a", 0), Time(0s)));
  chains.insert(writer.chain_of(chunk("a", 1, "other"), Time(1ms)));
  chains.insert(writer.chain_of(chunk("a", 2, "other"), Time(1s)));
  EXPECT_EQ(chains.size(), 3U);
  std::set<std::uint64_t> many;
  for (int i = 0; i < 1000; ++i) many.insert(writer.chain_of(chunk("b", i), Time(2s) + i * 1ms));
  EXPECT_EQ(many.size(), 4U);
}

TEST(Chains, unstructured_keys_are_chains_of_their_own) {
  ChainTable table;
  ChainFollower writer(table);
  std::set<std::uint64_t> chains;
  for (int i = 0; i < 100; ++i)
    chains.insert(writer.chain_of("key:" + std::to_string(i), Time(0s)));
  EXPECT_EQ(chains.size(), 100U);
}

TEST(Chains, a_full_table_drops_the_oldest_entries) {
  ChainTable table(64);
  for (std::uint64_t i = 1; i <= 1000; ++i) table.put(hash_of(std::to_string(i)), i);
  int known = 0;
  for (std::uint64_t i = 1; i <= 1000; ++i) {
    std::uint64_t key = hash_of(std::to_string(i));
    if (!table.knows(key)) continue;
    ++known;
    EXPECT_EQ(table.find(key), i);
  }
  EXPECT_LE(known, 64);
  EXPECT_GE(known, 48);
}

}  // namespace
}  // namespace specgen
