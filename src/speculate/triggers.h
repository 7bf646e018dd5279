#pragma once
// Finds the places in a reasoning stream where a fork may be worth trying. The patterns of a TriggerSet are
// compiled once
// and shared by all streams; each stream has a scanner that is fed deltas as they arrive. How the reasoning is split
// into deltas does not matter: a match split over many deltas fires once, at the delta that completes it.
// docs/reference/speculation.md has all rules.

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "speculate/trigger_set.h"

namespace specgen {

struct Trigger {
  const TriggerPattern* pattern = nullptr;  // of the set; null: an interval
  TriggerCategory category = TriggerCategory::interval;
  double weight = 1;
  std::size_t offset = 0;  // where to cut the reasoning, in bytes, before moving to a safe place
};

class TriggerScanner;

// Compiled patterns. Must outlive its scanners; not thread-safe.
class Triggers {
 public:
  static Result<std::unique_ptr<Triggers>> compile(TriggerSet set);
  ~Triggers();
  const TriggerSet& set() const;
  static std::size_t state_bytes();  // of one stream

 private:
  friend class TriggerScanner;
  class State;
  explicit Triggers(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

class TriggerScanner {
 public:
  explicit TriggerScanner(Triggers& triggers);
  TriggerScanner(TriggerScanner&&) noexcept;
  TriggerScanner& operator=(TriggerScanner&&) noexcept;
  ~TriggerScanner();

  // Appends the triggers that this delta completes to `found`, ordered by offset.
  void feed(std::string_view reasoning, std::vector<Trigger>& found);

 private:
  friend class Triggers;
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace specgen
