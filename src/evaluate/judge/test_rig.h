#pragma once
// A test rig: one candidate and the baseline, each in a process of its own (CPU) or in an executor that runs none of
// their code on the host (CUDA), on memory that the judge owns. The judge's flow (judge.h) is the same for
// every backend;
// Toolchain and TestRig are what differs.
//
// A rig serves one candidate in fresh processes and is then discarded. After a Finding that is not ok it is
// unusable. An
// Error is a fault of ours or of the host, never of the candidate.

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
  std::string remarks = {};  // of the compiler about its optimisations, for the profile
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
  // The task's own, which may be cached between runs.
  virtual Task<Result<Compiled>> compile_baseline(const KernelTask& task) = 0;
};

enum class Who : std::uint8_t { baseline, candidate };

// Which guard every tensor touches: the unmapped memory behind it or before it.
enum class Placement : std::uint8_t { behind, before };

// Which programs will be called on the tensors that are laid out.
enum class Called : std::uint8_t { both, candidate };

struct TestRigLimits {
  Duration call = std::chrono::seconds(10);  // limit of one call of the candidate
  // Use no memory of earlier rigs: its placement changes the speed and must be drawn again.
  bool fresh_memory = false;
};

// The inputs of one set of tensors.
struct SetInput {
  // NOLINTNEXTLINE(google-explicit-constructor): a seed is enough for the first distribution
  SetInput(std::uint64_t its_seed, std::size_t its_draw = 0) : seed(its_seed), draw(its_draw) {}
  std::uint64_t seed;
  std::size_t draw;  // added to the case's own draw
};

Case with_draw(Case at, const SetInput& input);  // the case with the set's draw

// One timed call of each program on every set, in turns, on fresh or rotated buffers. Every output of the candidate is
// compared with the baseline's on the same input.
struct Round {
  Finding finding;
  std::vector<double> baseline_ns;    // one per set
  std::vector<double> candidate_ns;   // the same
  std::vector<OutputReport> outputs;  // of the candidate, merged over the sets; one per output
  double disturbed = 0;  // share of samples that were repeated because something interfered
  bool is_spoiled =
      false;  // the device changed its speed meanwhile: the timings are not comparable
};

class TestRig {
 public:
  virtual ~TestRig() = default;

  // Lays out the tensors of a case, one set per input; replaces the last case. The finding is
  // `rejected` if the candidate's directives do not fit the case.
  virtual Task<Result<Finding>> lay_out(const KernelTask& task, Case at, std::vector<SetInput> sets,
                                        Placement placement, Called called) = 0;
  // New inputs in all sets, same shapes.
  virtual Task<Result<void>> refresh(std::vector<SetInput> sets) = 0;

  // One untimed call. Outputs and scratch are poisoned before it; afterwards inputs and guards are
  // checked: crash, timeout, out_of_bounds, input_modified, out_of_memory, deferred_work.
  virtual Task<Result<Finding>> call(Who who, std::size_t set) = 0;

  // Compares what the last call on that set has written: one report per output.
  virtual Task<Result<std::vector<OutputReport>>> compare_outputs(
      std::size_t set, const std::vector<Expected>& expected,
      const std::vector<Tolerance>& tolerances) = 0;
  virtual Task<Result<std::uint64_t>> digest(std::size_t set) = 0;  // of the outputs' bits

  // `scales`: per output, the scale for compare_with_baseline().
  virtual Task<Result<Round>> time_round(const std::vector<double>& scales,
                                         const std::vector<Tolerance>& tolerances) = 0;

  // Hardware counters over untimed calls of the candidate on the laid-out case: `into` becomes a JSON object whose
  // members are added to the profile's facts. Unchanged if the backend counts elsewhere. That nothing could be counted
  // is neither a Finding nor an Error.
  virtual Task<Result<Finding>> count(std::string& /*into*/) { co_return Finding{}; }

  virtual Breakdown breakdown() const { return {}; }  // of its work so far
};

}  // namespace specgen
