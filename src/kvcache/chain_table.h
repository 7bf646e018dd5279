#pragma once
// Which node a key belongs to. Nodes are chosen by weighted rendezvous: each key ranks all nodes, so that a node that
// comes or goes moves only the keys that are its own. What is ranked is not the key itself but its chain: chunks of one
// prompt are of use only together, so those that follow each other on a connection go to the same node. A table
// remembers which chain a key was put into; what it has forgotten, or never saw, is a chain of its own.
//
// Any thread may call.

#include <cstdint>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace specgen {

struct RankedNode {
  std::uint64_t name = 0;  // a hash of its address
  double weight = 1;
  bool usable = true;
};

// The node that this chain ranks highest among the usable ones; if there is none, among all.
std::size_t rank_highest(std::uint64_t chain, std::span<const RankedNode> nodes);

std::uint64_t hash_of(std::string_view text);

class ChainTable {
 public:
  explicit ChainTable(std::size_t entries = std::size_t{1} << 20);

  // The chain of a key; itself if nothing else is known.
  std::uint64_t find(std::uint64_t key) const;
  bool knows(std::uint64_t key) const;
  void put(std::uint64_t key, std::uint64_t chain);

 private:
  static constexpr std::size_t kWays = 4;
  struct Entry {
    std::uint64_t key = 0;
    std::uint64_t chain = 0;
  };
  const Entry* look_up(std::uint64_t key) const;

  mutable std::mutex mutex_;
  std::vector<Entry> entries_;  // kWays for each bucket; the one that came first goes first
  std::size_t next_way_ = 0;
};

// What one connection asks for, in order: where it continues a chain and where it begins one.
class ChainFollower {
 public:
  explicit ChainFollower(ChainTable& table) : table_(table) {}

  // The chain of this key. A key that nobody has seen continues the chain of the one before it if that was of the same
  // model and task and not long ago.
  std::uint64_t chain_of(std::string_view key, Time now);

 private:
  ChainTable& table_;
  std::uint64_t series_ = 0;  // of the last key, with its task
  std::uint64_t chain_ = 0;   // 0: none
  std::size_t length_ = 0;    // of the chain, as far as this connection saw it
  Time last_{};
};

}  // namespace specgen
