#pragma once
// Maps keys to nodes. Nodes are chosen by weighted rendezvous hashing: each key ranks all nodes, so that adding or
// removing a node moves only the keys of that node. The ranked value is not the key but its chain: chunks of one
// prompt are useful only together, so chunks that follow each other on a connection go to the same node. A table
// records the chain of each key; a key that is not in it is a chain of its own.
//
// Thread-safe.

#include <cstdint>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace specgen {

struct RankedNode {
  std::uint64_t name = 0;  // hash of its address
  double weight = 1;
  bool usable = true;
};

// The node that this chain ranks highest among the usable ones; if none is usable, among all.
std::size_t rank_highest(std::uint64_t chain, std::span<const RankedNode> nodes);

std::uint64_t hash_of(std::string_view text);

class ChainTable {
 public:
  explicit ChainTable(std::size_t entries = std::size_t{1} << 20);

  // The chain of a key; the key itself if none is recorded.
  std::uint64_t find(std::uint64_t key) const;
  bool knows(std::uint64_t key) const;
  void put(std::uint64_t key, std::uint64_t chain);

 private:
  static constexpr std::size_t kWays = 4;
  struct Entry {
    std::uint64_t key = 0;
    std::uint64_t chain = 0;
  };
  const Entry* find_entry(std::uint64_t key) const;

  mutable std::mutex mutex_;
  std::vector<Entry> entries_;  // kWays per bucket; the oldest is replaced first
  std::size_t next_way_ = 0;
};

// Follows the requests of one connection: whether a key continues a chain or begins one.
class ChainFollower {
 public:
  explicit ChainFollower(ChainTable& table) : table_(table) {}

  // The chain of this key. An unknown key continues the chain of the previous one if that was of the same model and
  // task and recent.
  std::uint64_t chain_of(std::string_view key, Time now);

 private:
  ChainTable& table_;
  std::uint64_t series_ = 0;  // hash of model and task of the last key
  std::uint64_t chain_ = 0;   // 0: none
  std::size_t length_ = 0;    // of the chain, on this connection
  Time last_{};
};

}  // namespace specgen
