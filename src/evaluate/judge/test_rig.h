#pragma once
// The rig: a candidate and the baseline, each called from a process of its own (CPU) or from an
// executor that runs no code of theirs on the host (CUDA), on memory that the judge owns. The
// judge's flow (validate.h, profile.h) is the same for every backend; what differs is behind this
// interface.
//
// A rig is a fresh process life: one candidate, then it is thrown away. After a Finding that is
// not ok the rig is dead. An Error is our own or the host's fault, never the candidate's.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "base/units.h"
#include "evaluate/candidate/directives.h"
#include "evaluate/judge/breakdown.h"
#include "evaluate/judge/compare.h"
#include "evaluate/task/cases.h"
#include "evaluate/verdict.h"
#include "runtime/task.h"

namespace specgen {

class InputSource;  // input_source.h

// A compiled source and what is needed to call it.
struct Program {
  std::string source;
  Directives directives;
  Values tunables;                                        // a value for every tunable
  std::string binary;                                     // shared object or cubin
  std::map<std::string, std::string> lowered_names = {};  // CUDA: name expression -> mangled name
  std::string remarks = {};  // what the compiler told of its work: for the profile
};

struct Compiled {
  Finding finding;  // ok, compile_error or rejected
  Program program;
  Duration took{};
};

// Compiles untrusted source, in the sandbox. Holds no device.
class Toolchain {
 public:
  virtual ~Toolchain() = default;
  virtual Task<Result<Compiled>> compile(const KernelTask& task, std::string source,
                                         Values tunables) = 0;
  // The task's own, which may be kept from run to run.
  virtual Task<Result<Compiled>> compile_baseline(const KernelTask& task) = 0;
};

enum class Who : std::uint8_t { baseline, candidate };

// Which guard every tensor leans on: the unmapped memory behind it or the one before it.
enum class Placement : std::uint8_t { behind, before };

// Who will be called on what is laid out.
enum class Called : std::uint8_t { both, candidate };

struct TestRigLimits {
  Duration call = std::chrono::seconds(10);  // longest single call of the candidate
  // Nothing of what other rigs had: where memory lies by chance is to be drawn anew.
  bool fresh_memory = false;
};

// Where the inputs of one set come from.
struct SetInput {
  // NOLINTNEXTLINE(google-explicit-constructor): a seed alone says all but which distribution
  SetInput(std::uint64_t its_seed, std::size_t its_draw = 0) : seed(its_seed), draw(its_draw) {}
  std::uint64_t seed;
  std::size_t draw;  // added to the case's own
};

Case with_draw(Case at, const SetInput& input);  // the case as that set sees it

// One timed call of each on every set, taken in turn, all on fresh or rotated buffers. Every output
// of the candidate was compared with the baseline's on the same input.
struct Round {
  Finding finding;
  std::vector<double> baseline_ns;    // as long as there are sets
  std::vector<double> candidate_ns;   // the same
  std::vector<OutputReport> outputs;  // of the candidate, merged over the sets; one per output
  double disturbed = 0;  // share of samples that were taken again because something interfered
  bool is_spoiled =
      false;  // the device changed its pace between the two: these are not to be compared
};

class TestRig {
 public:
  virtual ~TestRig() = default;

  // Puts a case on the rig: one set of tensors per input. Replaces the last
  // case. The finding tells of directives that do not fit the case (rejected).
  virtual Task<Result<Finding>> lay_out(const KernelTask& task, Case at, std::vector<SetInput> sets,
                                        Placement placement, Called called) = 0;
  // New inputs in all sets, same shapes.
  virtual Task<Result<void>> refresh(std::vector<SetInput> sets) = 0;

  // One call that is not timed. Outputs are poisoned before it, scratch too; afterwards inputs and
  // guards are checked: crash, timeout, out_of_bounds, input_modified, out_of_memory, deferred_work.
  virtual Task<Result<Finding>> call(Who who, std::size_t set) = 0;

  // At what the last call on that set has written: one report per output.
  virtual Task<Result<std::vector<OutputReport>>> compare_outputs(
      std::size_t set, const std::vector<Expected>& expected,
      const std::vector<Tolerance>& tolerances) = 0;
  virtual Task<Result<std::uint64_t>> digest(std::size_t set) = 0;  // of the outputs' bits

  // `scales`: per output, what compare_with_baseline() is to measure by.
  virtual Task<Result<Round>> time_round(const std::vector<double>& scales,
                                         const std::vector<Tolerance>& tolerances) = 0;

  // What the processor counts in calls of the candidate on what is laid out, which are not timed: a JSON object whose
  // members join the profile's facts. `into` stays as it is where the device counts in another way. That nothing
  // could be counted is no Finding and no Error.
  virtual Task<Result<Finding>> count(std::string& /*into*/) { co_return Finding{}; }

  virtual Breakdown breakdown() const { return {}; }  // of what it did so far
};

}  // namespace specgen
