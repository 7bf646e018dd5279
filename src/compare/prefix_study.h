#pragma once
// How early does a prefix of the reasoning suffice? A fold over a run of StudyIterations: streams ran to their ends,
// forks were made at every few percent of them, drafts were harvested; all of it was evaluated and none of it used. A
// kernel suffices if it would have stopped the reasoning: surely faster than the mean of the final answers so far, or
// than the baseline if there is none.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "search/run_state.h"

namespace specgen {

// One stream.
struct StudiedStream {
  IterationId iteration;
  std::int64_t tokens = 0;            // of reasoning
  double bar = 1;                     // the speedup to beat
  std::optional<double> answer = {};  // speedup of the final answer, if it is ok
  // The shortest share of the reasoning after which a kernel sufficed; nothing if none did.
  std::optional<double> by_fork = {};
  std::optional<double> by_draft = {};
  std::optional<double> control = {};  // speedup of the control generation, if it is ok
  bool answer_suffices = false;
  bool control_suffices = false;

  std::optional<double> shortest() const;  // of the two
};

// Forks or drafts after a similar share of the reasoning.
struct PrefixBin {
  double from = 0, to = 1;  // shares
  std::int64_t made = 0;
  std::int64_t ok = 0;
  std::int64_t sufficed = 0;
};

struct PrefixStudy {
  std::vector<StudiedStream> streams;
  std::vector<PrefixBin> forks;  // ten of them
  std::vector<PrefixBin> drafts;
  std::int64_t main_tokens = 0;  // paid
  std::int64_t fork_tokens = 0;
  std::int64_t control_tokens = 0;

  // The share of the streams in which a kernel sufficed after this share of the reasoning.
  double sufficed_by(double share) const;
  // The share of all reasoning that early stops would have saved if evaluation took no time.
  double saved_share() const;
};

PrefixStudy prefix_study(const RunState& state);

Json to_json(const PrefixStudy& study);  // members of schema specgen.probe
std::string study_text(const PrefixStudy& study);
// The cumulative distribution, as a self-contained SVG.
std::string study_picture(const PrefixStudy& study);

}  // namespace specgen
