#pragma once
// What a run knows: the fold over its journal's entries, and nothing else. A run that is killed is resumed by folding
// again; a report is made from the same. Each entry type below has one struct; to_entry() and apply() are each
// other's inverse. docs/reference/journal.md lists them.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "generate/call_ledger.h"
#include "journal/storage.h"
#include "schedule/job.h"
#include "speculate/gate.h"
#include "speculate/stopping_policy.h"

namespace specgen {

inline constexpr std::string_view kStartRole = "start";
// Why a run ended that Ctrl-C stopped: it can be resumed.
inline constexpr std::string_view kInterrupted = "interrupted";

struct RunTask {
  std::string name = {};     // its title: "softmax", "matmul_square:f16"
  std::string where = {};    // as the user named it
  std::string backend = {};  // "cpu" or "cuda"
};

struct RunBudgets {  // 0: no limit
  Duration wall{};
  std::int64_t tokens = 0;
  double dollars = 0;
  std::int64_t iterations = 0;  // of each task
  friend bool operator==(const RunBudgets&, const RunBudgets&) = default;
};

// "run": the first entry.
struct RunBegun {
  std::vector<RunTask> tasks = {};
  std::string workflow = {};
  std::string criterion = {};
  std::string model = {};
  std::vector<std::string> devices = {};  // of the pool; compile slots not counted
  bool speculate = true;
  std::uint64_t seed = 0;
  RunBudgets budgets = {};
};

// "iteration": a main generation that is to write a kernel begins. The role "start" is the user's own kernel being
// judged, which is no iteration of the search.
struct IterationBegun {
  IterationId id = {};
  std::uint32_t task = 0;
  std::string role = {};  // of its prompt: "writer", "repair", "diff"
};

// "iteration-ended"
struct IterationEnded {
  IterationId id = {};
  IterationEnd end = IterationEnd::answered;
  CandidateId by = {};            // that stopped it
  std::int64_t tokens = 0;        // of the main generation
  std::int64_t saved_tokens = 0;  // by stopping it; estimated: a shadow measures it
  RefusalCounts refusals{};       // triggers that did not become forks
  std::string note = {};          // why it failed
};

// "call": about to be sent. "call-ended": what it cost.
struct CallSent {
  std::uint64_t id = 0;
  IterationId iteration = {};
  std::string purpose = {};
  std::int64_t max_tokens =
      0;  // prompt and answer, at most: what it is counted as if its end is never reported
};
struct CallDone {
  std::uint64_t id = 0;
  CallOutcome outcome = CallOutcome::ended;
  Usage usage = {};
  double dollars = 0;
  Duration sent{};  // since the run began
  Duration ended{};
};

// "candidate"
struct CandidateFound {
  CandidateId id = {};
  IterationId iteration = {};
  Origin origin = Origin::main;
  ArtifactId source = {};
  CandidateId parent = {};
  std::string trigger = {};        // of a fork
  std::int64_t prefix_tokens = 0;  // of reasoning before it
  Duration at{};                   // since the run began
  bool shadow = false;  // what a stopped generation would have written: known, and not used
};

// "judged": of a candidate, exactly once.
struct CandidateJudged {
  CandidateId id = {};
  Verdict verdict = Verdict::harness_error;
  Speedup speedup = {};
  double peak_fraction = 0;
  bool profiled = false;
  bool withdrawn = false;
  bool repeated = false;
  std::string evidence = {};          // text
  ArtifactId evaluation = {};         // JSON; empty if there is none
  Values tunables = {};               // with which it was judged
  std::vector<StageSpan> spans = {};  // times since the run began
  Duration at{};
};

// "tuned": of a candidate whose profile is feedback, at most once: it is faster still with other tunables.
struct CandidateTuned {
  CandidateId id = {};
  Speedup speedup = {};
  double peak_fraction = 0;
  Values tunables = {};        // those that won
  ArtifactId source = {};      // with them as the defaults
  ArtifactId evaluation = {};  // JSON
  std::vector<StageSpan> spans = {};
  Duration at{};
};

// New knowledge about a kernel that works.
inline bool is_feedback(const CandidateJudged& judged) {
  return judged.profiled && judged.verdict == Verdict::ok && !judged.repeated;
}

// "shadow": what a generation that was stopped, and ran on unseen, would have cost.
struct ShadowEnded {
  IterationId iteration = {};
  std::int64_t saved_tokens = 0;
  Duration saved{};
  bool whole = false;  // it came to its end
};

struct CandidateState {
  CandidateFound found;
  std::optional<CandidateJudged> judged = {};  // as it was written
  std::optional<CandidateTuned> tuned = {};

  // As good as it is known to be; of one that is judged.
  const Speedup& speedup() const { return tuned ? tuned->speedup : judged->speedup; }
  double peak_fraction() const { return tuned ? tuned->peak_fraction : judged->peak_fraction; }
  const Values& tunables() const { return tuned ? tuned->tunables : judged->tunables; }
  const ArtifactId& source() const { return tuned ? tuned->source : found.source; }
  std::vector<StageSpan> spans() const;  // of both
  const ArtifactId& evaluation() const { return tuned ? tuned->evaluation : judged->evaluation; }
};
struct IterationState {
  IterationBegun begun;
  std::optional<IterationEnded> ended = {};
  std::optional<ShadowEnded> shadow = {};
  std::uint32_t forks = 0;
  std::uint32_t harvested = 0;
  std::uint32_t feedback = 0;  // candidates of it that were profiled
};
struct CallState {
  CallSent sent;
  std::optional<CallDone> done = {};
};

struct TaskState {
  std::vector<IterationId> iterations;
  std::int64_t uncounted = 0;           // of these: interrupted, or restarted
  std::vector<CandidateId> candidates;  // in the order in which they were found
  std::vector<CandidateId> confirmed;   // profiled and ok, in the order in which they were judged
  CandidateId best;
  double best_speedup = 0;
  double sum_of_speedups = 0;  // of the confirmed
  ReasoningTotals reasoning;
  SpeedupsSoFar so_far() const;
};

struct TokenTotals {
  std::int64_t main = 0;
  std::int64_t forks = 0;
  std::int64_t other = 0;
  std::int64_t saved = 0;
  std::int64_t maybe_charged = 0;  // calls whose end was never reported
};

class RunState {
 public:
  Result<void> apply(const Entry& entry);

  bool begun() const { return !run.tasks.empty(); }
  // Everything that behaviour may depend on, in a hash: two states that are equal have equal digests.
  std::uint64_t digest() const;
  std::vector<CandidateId> open_candidates() const;  // found and not judged
  std::vector<IterationId> open_iterations() const;

  RunBegun run;
  std::map<CandidateId, CandidateState> candidates;
  std::map<IterationId, IterationState> iterations;
  std::map<std::uint64_t, CallState> calls;
  std::vector<TaskState> tasks;
  TokenTotals tokens;
  ReasoningTotals reasoning;
  double dollars = 0;
  std::uint32_t resumptions = 0;
  Duration last_at{};  // the latest time in an entry, since the run began
  std::string ended;   // why; empty while it runs

 private:
  Result<void> apply_run(const Entry& entry, const Json& body);
  void apply_budgets(const Json& body);
  Result<void> apply_iteration(const Entry& entry, const Json& body);
  Result<void> apply_iteration_ended(const Entry& entry, const Json& body);
  Result<void> apply_call(const Entry& entry, const Json& body);
  Result<void> apply_call_ended(const Entry& entry, const Json& body);
  Result<void> apply_candidate(const Entry& entry, const Json& body);
  Result<void> apply_judged(const Entry& entry, const Json& body);
  Result<void> apply_tuned(const Entry& entry, const Json& body);
  Result<void> apply_shadow(const Entry& entry, const Json& body);
  void apply_resumed(Duration at);

  std::uint64_t items_digest_ = 0;
  std::set<std::uint64_t> open_calls_;
  std::set<CandidateId> open_candidates_;
  std::set<IterationId> open_iterations_;
};

// Type and body of the entry.
using EntryText = std::pair<std::string, std::string>;
EntryText to_entry(const RunBegun& begun);
EntryText to_entry(const RunBudgets& budgets);  // "budgets": a resumed run was given others
EntryText to_entry(const IterationBegun& begun);
EntryText to_entry(const IterationEnded& ended);
EntryText to_entry(const CallSent& sent);
EntryText to_entry(const CallDone& done);
EntryText to_entry(const CandidateFound& found);
EntryText to_entry(const CandidateJudged& judged);
EntryText to_entry(const CandidateTuned& tuned);
EntryText to_entry(const ShadowEnded& shadow);
EntryText resumed_entry(Duration at);             // "resumed": open calls count as charged
EntryText run_ended_entry(std::string_view why);  // "run-ended"

}  // namespace specgen
