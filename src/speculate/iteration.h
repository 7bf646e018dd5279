#pragma once
// One iteration: a main generation that thinks, and what is made of its reasoning while it goes on. Complete kernels in
// the text are harvested; at triggers the gate may let a fork go, which answers at once from the reasoning so far; all
// kernels go to the sink, which has them judged. When one of them is good enough, the main generation and the forks
// still under way are cancelled on the wire. One that fails may be mended at once, by a quick answer that knows what
// was found. While the devices have no room, one kernel of it is judged at a time, and of the drafts that wait only the
// latest is kept.
//
//   Iteration iteration(surroundings, std::move(setup));
//   IterationReport report = co_await iteration.run();
//
// Its owner tells it of verdicts by tell(), also late ones. What is found outlives the iteration: the sink owns it.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "generate/model.h"
#include "generate/reasoning_trace.h"
#include "runtime/loop.h"
#include "runtime/sync.h"
#include "runtime/task_group.h"
#include "schedule/job.h"
#include "speculate/gate.h"
#include "speculate/harvest.h"
#include "speculate/triggers.h"

namespace specgen {

struct SpeculationSettings {
  bool harvest = true;
  bool forks = true;
  bool early_stop = true;
  GateSettings gate = {};
  std::int64_t fork_max_tokens = 8192;
  double shadow = 0;  // share of the streams that would be stopped and run on unseen
  // A study instead: the stream runs to its end, then a fork is made at every such share of it, and nobody is to use
  // what that and the harvest find. 0: none.
  double study_step = 0;
  bool study_control = false;  // and a second whole generation, beside it
};

// A kernel that was found, before anything is known about it.
struct FoundKernel {
  std::string source;
  Origin origin = Origin::main;
  std::string trigger = {};        // of a fork
  std::int64_t prefix_tokens = 0;  // of reasoning before it
  std::size_t prefix_bytes = 0;    // the same
  bool is_python = false;
  bool shadow = false;     // judged, and not used
  CandidateId mends = {};  // one that had failed
};

struct Mending {
  std::vector<Message> words;
  std::string source;  // what the answer may be a change to
};

// Takes what is found, writes it down and has it judged. Outlives the iteration.
class CandidateSink {
 public:
  virtual ~CandidateSink() = default;
  virtual CandidateId found(IterationId iteration, FoundKernel kernel) = 0;
  // What a call that may take so many tokens needs to be made; false: it does not fit the budget.
  virtual bool may_spend(std::int64_t tokens) const = 0;
  virtual PoolLoad load() const = 0;
  // That a good kernel takes, the reasoning that led to none included; 0: too little is known.
  virtual std::int64_t tokens_for_a_good_one() const = 0;
  // What to say after the main prompt so that a kernel that failed is mended; nothing: it is not to be.
  virtual std::optional<Mending> words_to_mend(CandidateId failed) = 0;
};

struct CandidateNews {
  CandidateId id;
  Origin origin = Origin::main;
  bool has_feedback = false;  // profiled, ok, and news
  bool good_enough = false;
  bool is_first = false;  // nothing was known of the task: that it is good enough says little
  bool failed = false;    // by its own fault
  bool repeated = false;  // an equal one was judged before
  bool is_mended = false;
};

enum class IterationEnd : std::uint8_t {
  answered,     // the model came to its end and wrote a kernel
  stopped,      // a candidate was good enough
  no_kernel,    // it came to its end without one
  failed,       // the model or its server
  interrupted,  // the run was killed or ended meanwhile; it is no iteration then
  superseded,   // a parallel iteration has won
  abandoned,    // its candidates failed again and again, or none met the criterion for long
  restarted,    // abandoned for its failures; together with the next stream it is one iteration
};
std::string_view to_string(IterationEnd end);
// Also reads the names in older journals: overtaken, given_up, begun_again.
std::optional<IterationEnd> parse_iteration_end(std::string_view name);

struct IterationSetup {
  IterationId id;
  Request main;             // mode reason
  std::string backend;      // "cpu" or "cuda"
  std::string parent;       // source that a diff is against; may be empty
  bool wants_diff = false;  // the answer is to be a change to the parent
  SpeculationSettings speculation;
};

struct IterationSurroundings {  // all outlive the iteration
  Loop& loop;
  Model& model;
  CandidateSink& sink;
  Gate& gate;
  Triggers* triggers;  // null: no forks
  Event& stop;         // the run is to end
};

struct IterationReport {
  IterationEnd end = IterationEnd::failed;
  CandidateId by;            // that stopped it
  std::int64_t tokens = 0;   // of the main generation, told or estimated
  RefusalCounts refusals{};  // of triggers, by the gate
  std::string reasoning;
  std::string note = {};  // why it failed, or why there is no kernel
  // The main generation of an iteration that was stopped, if it is to run on as a shadow.
  std::unique_ptr<Generation> shadow = {};
};

class Iteration {
 public:
  Iteration(IterationSurroundings surroundings, IterationSetup setup);
  ~Iteration();

  Task<IterationReport> run();
  void tell(const CandidateNews& news);

 private:
  enum class Step : std::uint8_t { goes_on, main_ended, is_over };

  Task<void> follow_main();
  Task<void> await_verdicts();
  Step take(StreamEvent event);
  void take(const Delta& delta);
  bool take(const CandidateNews& news);  // true: it ends the iteration
  void notice(const Trigger& trigger);
  void look_for_kernels(std::string_view reasoning);
  void hand_in_draft();
  void consider(const Trigger& trigger);
  void reconsider();
  GateView view_of(const Trigger& trigger) const;
  void fork_from(const Trigger& trigger);
  Request fork_request(ReasoningPrefix prefix) const;
  Task<void> fork(std::string trigger, Request request);
  bool is_worth_mending(const CandidateNews& failed) const;
  bool begin_mending(CandidateId failed);
  Task<void> mend(CandidateId failed, std::string source, Request request);
  bool is_study() const { return setup_.speculation.study_step > 0; }
  void begin_study();
  Task<void> fork_at_shares(int lane);
  Task<void> control();
  void answer_is_whole(const Ended& ended);
  std::optional<std::string_view> parent_for_diffs() const;
  CandidateId found(FoundKernel kernel);
  std::int64_t tokens_before(std::size_t offset) const;
  bool is_settled() const;
  bool is_hopeless() const;
  bool has_had_its_chance() const;
  void end_with(IterationEnd end, std::string note = {});

  IterationSurroundings around_;
  IterationSetup setup_;
  std::unique_ptr<Generation> main_;
  ReasoningTrace trace_;
  std::string answer_;
  Harvester harvester_;
  std::unique_ptr<TriggerScanner> scanner_;
  std::vector<Trigger> triggers_;   // of one delta; kept for its memory
  std::optional<Trigger> waiting_;  // refused for a reason that passes
  std::vector<HarvestedKernel> kernels_;
  Channel<CandidateNews> news_;
  Event fork_ended_;
  TaskGroup forks_;
  int forks_in_flight_ = 0;
  int forks_made_ = 0;
  int mended_ = 0;
  // A draft that waits for room among the devices. A later one takes its place: it is what the reasoning has come to.
  std::optional<FoundKernel> held_;
  bool has_draft_ = false;     // one was handed in
  std::size_t last_look_ = 0;  // offset in the reasoning of the last fork or harvest
  // A kernel knows the reasoning before it. A decision behind that is news to it.
  std::map<CandidateId, std::size_t> knows_;  // bytes
  std::size_t decided_at_ = 0;
  int failures_ = 0;            // of its kernels, in a row, and not mended
  CandidateId good_;            // good enough; the first
  std::size_t good_since_ = 0;  // how much had been thought when that was known
  CandidateId main_candidate_;
  bool main_judged_ = false;
  bool has_feedback_ = false;
  std::int64_t unjudged_ = 0;  // candidates found and not told of
  int side_tasks_ = 0;         // of a study, under way
  bool over_ = false;
  IterationReport report_;
};

}  // namespace specgen
