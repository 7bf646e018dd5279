#include "kvcache/chain_table.h"

#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "kvcache/kv_key.h"

namespace specgen {
namespace {

// Longest pause between the requests for one prompt.
constexpr Duration kMaxPause = std::chrono::milliseconds(200);
// Limits a chain on a connection that never pauses: a gigabyte of 4 MiB values.
constexpr std::size_t kMaxChain = 256;

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  const std::uint64_t parts[2] = {a, b};
  return XXH3_64bits(parts, sizeof parts);
}

double score(std::uint64_t chain, const RankedNode& node) {
  // u is uniform in (0, 1): -weight / ln(u) is the highest for a node with a probability in proportion to its weight.
  double u = (static_cast<double>(mixed(chain, node.name) >> 11) + 0.5) * 0x1p-53;
  return -node.weight / std::log(u);
}

}  // namespace

std::uint64_t hash_of(std::string_view text) {
  return XXH3_64bits(text.data(), text.size());
}

std::size_t rank_highest(std::uint64_t chain, std::span<const RankedNode> nodes) {
  bool any = std::ranges::any_of(nodes, &RankedNode::usable);
  std::size_t best = 0;
  double best_score = -1;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (any && !nodes[i].usable) continue;
    double here = score(chain, nodes[i]);
    if (here > best_score) {
      best = i;
      best_score = here;
    }
  }
  return best;
}

ChainTable::ChainTable(std::size_t entries) : entries_(std::bit_ceil(std::max(entries, kWays))) {}

const ChainTable::Entry* ChainTable::find_entry(std::uint64_t key) const {
  std::size_t bucket = (key * kWays) & (entries_.size() - 1);
  for (std::size_t way = 0; way < kWays; ++way) {
    const Entry& entry = entries_[bucket + way];
    if (entry.key == key && entry.chain != 0) return &entry;
  }
  return nullptr;
}

std::uint64_t ChainTable::find(std::uint64_t key) const {
  std::lock_guard lock(mutex_);
  const Entry* entry = find_entry(key);
  return entry ? entry->chain : key;
}

bool ChainTable::knows(std::uint64_t key) const {
  std::lock_guard lock(mutex_);
  return find_entry(key) != nullptr;
}

void ChainTable::put(std::uint64_t key, std::uint64_t chain) {
  std::lock_guard lock(mutex_);
  if (const Entry* known = find_entry(key)) {
    const_cast<Entry*>(known)->chain = chain;
    return;
  }
  std::size_t bucket = (key * kWays) & (entries_.size() - 1);
  std::size_t way = next_way_++ % kWays;
  for (std::size_t i = 0; i < kWays; ++i) {
    if (entries_[bucket + i].chain == 0) way = i;
  }
  entries_[bucket + way] = {key, chain};
}

std::uint64_t ChainFollower::chain_of(std::string_view key, Time now) {
  KvKey parts = parse_kv_key(key);
  std::uint64_t base = hash_of(parts.base);
  std::uint64_t series = mixed(hash_of(parts.series), hash_of(parts.task));
  bool continues = chain_ != 0 && series == series_ && !parts.series.empty() &&
                   now - last_ < kMaxPause && length_ < kMaxChain;
  std::uint64_t chain = base;
  if (table_.knows(base)) {
    chain = table_.find(base);
  } else {
    if (continues) chain = chain_;
    table_.put(base, chain);
  }
  length_ = chain == chain_ ? length_ + 1 : 1;
  chain_ = chain;
  series_ = series;
  last_ = now;
  return chain;
}

}  // namespace specgen
