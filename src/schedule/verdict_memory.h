#pragma once
// What was judged before, so that an equal candidate is not judged again. Bounded: the oldest are forgotten first.
// Only what would come out the same is kept: nothing that was our own fault, and no timing that was unstable.

#include <cstddef>
#include <deque>
#include <string>
#include <unordered_map>

#include "base/units.h"
#include "schedule/job.h"

namespace specgen {

class VerdictMemory {
 public:
  explicit VerdictMemory(std::size_t max_verdicts, Bytes max_bytes = MiB(256))
      : max_verdicts_(max_verdicts), max_bytes_(max_bytes.count) {}

  // Replaces what was known of the key.
  void remember(const std::string& key, const Judged& judged);
  const Judged* find(const std::string& key) const;  // null; valid until the next remember()
  std::size_t size() const { return verdicts_.size(); }

  static bool is_worth_keeping(const Judged& judged);

 private:
  void forget_oldest();

  std::size_t max_verdicts_;
  std::size_t max_bytes_;
  std::size_t bytes_ = 0;
  std::unordered_map<std::string, Judged> verdicts_;
  std::deque<std::string> order_;
};

}  // namespace specgen
