#pragma once
// Chooses the value to evict when memory is short. Pure: no clock and no values, only their ids; every call is O(log
// n). The order:
//
//   1. suffix before prefix: a value with a resident child in its chain is needed for that child, and is not offered;
//   2. values of a pinned task after all others;
//   3. the least worth, by GDSF (Cherkasova, "Improving WWW proxies performance with Greedy-Dual-Size-Frequency
//      caching policy", 1998): clock + uses x seconds to recompute / size. The clock is the worth of the last evicted
//      value, so that unused values age;
//   4. the longest unused. A value without a known chain counts as used once, so for these the order is recency.
//
// Values are in places, memory of the host and of devices, each with its own order. A value moves from the host to a
// device before it is dropped, so on the host children on a device do not protect their parents; everywhere else
// they do.
//
// Chains are learned from the order of a client's requests. A value has one true parent, but the requests suggest
// many: the parent with the majority of votes is used (Boyer and Moore, "MJRTY", 1981).

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/units.h"

namespace specgen {

struct RecomputeCost {
  double prefill_tokens_per_s = 0;  // 0: unknown
  double bytes_per_token = 0;       // 0: unknown
  // Per MiB of a value of this size that has `depth` values before it in its chain.
  double seconds_per_mib(std::uint64_t bytes, std::uint32_t depth) const;
};

class EvictionOrder {
 public:
  using Id = std::uint64_t;    // never 0, never reused; increasing in order of creation
  using Place = std::uint8_t;  // 0 is the host, the others are devices
  static constexpr Place kHost = 0;
  static constexpr std::size_t kMaxPlaces = 17;

  explicit EvictionOrder(RecomputeCost cost) : cost_(cost) {}

  void add(Id id, std::uint64_t bytes, std::string_view task);
  void grow(Id id, std::uint64_t more_bytes);
  void use(Id id);
  void move(Id id, Place to);     // new values are on the host
  void follow(Id id, Id parent);  // a client requested `id` just after `parent`
  void remove(Id id);             // not to free memory
  void evict(Id id);              // to free memory: advances the clock

  // A held value is not offered.
  void hold(Id id);
  void release(Id id);  // also valid after remove()

  std::optional<Id> first(Place place = kHost) const;
  std::optional<Id> first_of(std::string_view task) const;
  std::uint64_t bytes_of(std::string_view task) const;
  std::vector<Id> all_of(std::string_view task) const;

  void pin(std::string_view task, Time until);
  void unpin(std::string_view task);
  void expire_pins(Time now);

  bool is_offered(Id id) const;
  double worth_of(Id id) const;  // 0 if absent
  std::size_t size() const { return nodes_.size(); }
  std::size_t tasks() const { return tasks_.size(); }  // with values or pins

 private:
  using Rank = std::tuple<bool, double, std::uint64_t, Id>;  // pinned, worth, last use
  struct TaskValues {
    std::unordered_set<Id> members;
    std::set<Rank> offered;
    std::uint64_t bytes = 0;
    std::optional<Time> pinned_until;
  };
  using Tasks = std::map<std::string, TaskValues, std::less<>>;
  struct Node {
    Tasks::iterator task;
    std::uint64_t bytes = 0;
    std::uint64_t last_use = 0;
    std::uint64_t uses = 1;
    std::uint32_t depth = 0;
    std::uint32_t children = 0;          // in all places
    std::uint32_t children_on_host = 0;  // of them
    std::uint32_t held = 0;
    std::uint32_t votes = 0;
    Id parent = 0;  // may have been removed
    double worth = 0;
    Place place = kHost;
    bool is_offered = false;
  };

  Node* find(Id id);
  Rank rank_of(Id id, const Node& node) const;
  void offer(Id id, Node& node);
  void withdraw(Id id, Node& node);
  void weigh(Id id, Node& node);  // updates its worth
  void add_child(Id parent, int count, int on_host);
  void repin(Tasks::iterator task, std::optional<Time> until);
  void forget_if_empty(Tasks::iterator task);

  RecomputeCost cost_;
  double clock_ = 0;
  std::uint64_t ticks_ = 0;
  std::unordered_map<Id, Node> nodes_;
  std::array<std::set<Rank>, kMaxPlaces> offered_;
  Tasks tasks_;
  std::set<std::pair<Time, std::string>> pins_;
};

}  // namespace specgen
