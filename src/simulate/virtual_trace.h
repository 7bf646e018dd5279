#pragma once
// The text that a simulated model thinks, made part by part and for next to nothing: slices of prose, the phrases that
// trigger sets look for, whole kernels in fences, and in every part one marked line. From the marked line a fork's
// prefix is understood by itself: which trace it is, what that trace aims at, and how far it has come.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/random.h"
#include "simulate/faults.h"
#include "simulate/skill.h"

namespace specgen {

struct TraceSettings {
  std::int64_t part_tokens = 256;  // of one delta; at least 64
  // How often they stand in the text, per 1,000 tokens of reasoning.
  double drafts = 0.8;
  double changes_of_mind = 1.2;
  double decisions = 0.3;
  double checks = 0.25;
};

struct TracePosition {
  TraceAim aim;
  double share = 0;  // of the whole reasoning that stands in the prefix
};

// Nothing if the text is no part of a virtual trace.
std::optional<TracePosition> read_position(std::string_view prefix);

class TraceWriter {
 public:
  TraceWriter(const TraceSettings& settings, const Skill& skill, TraceAim aim,
              std::int64_t reasoning_tokens, Faults& faults, Random random);

  bool is_done() const { return part_ == parts_; }
  std::int64_t next_tokens() const;  // of the next part, about
  std::string next();                // the next part's text

 private:
  void add_draft(std::string& text);

  const TraceSettings& settings_;
  const Skill& skill_;
  TraceAim aim_;
  std::int64_t tokens_;
  std::int64_t parts_;
  std::int64_t part_ = 0;
  Faults& faults_;
  Random random_;
  std::optional<KernelTruth> last_draft_;
};

}  // namespace specgen
