#pragma once
// Follows one reasoning stream: keeps its text, harvests the drafts in it and finds the triggers. It knows neither the
// model nor the gate, and how the text is cut into deltas changes nothing.
//
//   StreamFindings& found = follower.follow(delta);
//   for (HarvestedKernel& draft : found.drafts) submit(draft);
//   for (const Trigger& trigger : found.triggers) consider(trigger);

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "generate/model.h"
#include "generate/reasoning_trace.h"
#include "speculate/harvest.h"
#include "speculate/triggers.h"

namespace specgen {

struct StreamFindings {  // of one delta
  std::vector<HarvestedKernel> drafts;
  bool has_repeated_draft = false;  // a draft that was found before
  std::vector<Trigger> triggers;
};

class StreamFollower {
 public:
  // Without `harvest` no drafts are found; without `triggers`, which outlive the follower, no triggers.
  StreamFollower(std::string backend, bool harvest, Triggers* triggers);

  void add(const PromptTokens& prompt) { trace_.add(prompt); }
  StreamFindings& follow(const Delta& delta);  // valid until the next call
  StreamFindings& finish();                    // the stream has ended: drafts that ended with it

  const ReasoningTrace& reasoning() const { return trace_; }
  const std::string& answer() const { return answer_; }
  std::size_t bytes() const { return trace_.text().size() + answer_.size(); }
  std::int64_t tokens_before(std::size_t offset) const;  // of the reasoning, estimated

 private:
  ReasoningTrace trace_;
  std::string answer_;
  std::optional<Harvester> harvester_;
  std::optional<TriggerScanner> scanner_;
  StreamFindings findings_;
};

}  // namespace specgen
