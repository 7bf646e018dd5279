#pragma once
// The reasoning text of a virtual model, generated cheaply part by part: slices of prose, phrases that triggers
// match, complete kernels in fences, and one marker line per part. The marker identifies a fork from its prefix alone
// which trace it belongs to, what that trace aims at, and how far it has come.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/random.h"
#include "simulate/faults.h"
#include "simulate/skill.h"

namespace specgen {

struct TraceSettings {
  std::int64_t part_tokens = 256;  // per delta; at least 64
  // Frequency per 1,000 tokens of reasoning.
  double drafts = 0.8;
  double changes_of_mind = 1.2;
  double decisions = 0.3;
  double checks = 0.25;
};

struct TracePosition {
  TraceAim aim;
  double share = 0;  // of the reasoning that is in the prefix
};

// Nothing if the text is not from a virtual trace.
std::optional<TracePosition> read_position(std::string_view prefix);

class VirtualTraceWriter {
 public:
  VirtualTraceWriter(const TraceSettings& settings, const Skill& skill, TraceAim aim,
                     std::int64_t reasoning_tokens, Faults& faults, Random random);

  bool is_done() const { return part_ == parts_; }
  std::int64_t next_tokens() const;  // of the next part, approximately
  std::string next();                // the text of the next part

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
