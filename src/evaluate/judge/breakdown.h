#pragma once
// Where the time of a validation went, by kind of work: for whoever makes it faster. Kinds are names
// for people; sums of kinds that overlap are longer than the whole.

#include <map>
#include <string>
#include <string_view>

#include "base/units.h"
#include "runtime/stopwatch.h"

namespace specgen {

using Breakdown = std::map<std::string, Duration>;

inline void add(Breakdown& into, const Breakdown& more) {
  for (const auto& [what, time] : more) into[what] += time;
}

// Adds the time it lives to one kind.
class Spending {
 public:
  Spending(Breakdown& into, std::string_view what)
      : sum_(into[std::string(what)]), start_(stopwatch_ns()) {}
  Spending(const Spending&) = delete;
  Spending& operator=(const Spending&) = delete;
  ~Spending() { sum_ += Duration(stopwatch_ns() - start_); }

 private:
  Duration& sum_;  // entries of a map stay where they are
  std::int64_t start_;
};

}  // namespace specgen
