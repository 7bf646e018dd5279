#pragma once
// Where the time of an evaluation goes: sums that scopes add their own duration to.

#include <map>
#include <string>
#include <string_view>

#include "base/units.h"
#include "runtime/stopwatch.h"

namespace specgen {

// Time by kind of work, for performance work on the judge. Kinds may overlap, so their sum can exceed the whole.
using Breakdown = std::map<std::string, Duration>;

inline void add(Breakdown& into, const Breakdown& more) {
  for (const auto& [what, time] : more) into[what] += time;
}

// Adds the duration of its scope to a sum.
class Measuring {
 public:
  explicit Measuring(std::int64_t& sum_ns) : sum_ns_(sum_ns), start_(stopwatch_ns()) {}
  Measuring(const Measuring&) = delete;
  Measuring& operator=(const Measuring&) = delete;
  ~Measuring() { sum_ns_ += stopwatch_ns() - start_; }

 private:
  std::int64_t& sum_ns_;
  std::int64_t start_;
};

// The same for one kind of a Breakdown.
class Spending {
 public:
  Spending(Breakdown& into, std::string_view what)
      : sum_(into[std::string(what)]), start_(stopwatch_ns()) {}
  Spending(const Spending&) = delete;
  Spending& operator=(const Spending&) = delete;
  ~Spending() { sum_ += Duration(stopwatch_ns() - start_); }

 private:
  Duration& sum_;  // map entries do not move
  std::int64_t start_;
};

}  // namespace specgen
