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

// What the device can do at best, measured once and cached: physics for the floor of every timing.
struct Ceilings {
  double memory_bytes_per_second = 0;
  double cache_bytes_per_second = 0;       // from the last cache before memory
  double cache_bytes = 0;                  // how large that is
  double near_cache_bytes_per_second = 0;  // from the fastest cache; 0: there is none to speak of
  double near_cache_bytes = 0;             // what may come from there
  std::map<std::string, double> flops_per_second;  // by rate: f32, f64, tf32, f16, bf16
  double launch_seconds = 0;                       // of an empty kernel: nothing is faster
};
Json to_json(const Ceilings& ceilings);
Result<Ceilings> ceilings_from_json(const Json& json);

class Device {
 public:
  virtual ~Device() = default;
  virtual std::string id() const = 0;    // "cpu:0", "cuda:0"
  virtual std::string name() const = 0;  // the model, for people and for caches
  virtual Backend backend() const = 0;
  virtual std::vector<std::string> lock_names() const = 0;  // see device_lock.h
  virtual std::vector<int> cores_of_judge() const = 0;      // where nothing of the device's runs
  virtual Toolchain& toolchain() = 0;
  // Fresh processes for one candidate. `source` outlives the rig.
  virtual Task<Result<std::unique_ptr<TestRig>>> open(const KernelTask& task,
                                                      const Program& candidate,
                                                      const Program& baseline, InputSource& source,
                                                      TestRigLimits limits) = 0;
  virtual Task<Result<Ceilings>> measure_ceilings() = 0;
  // How many sets make a rotation over `footprint` cold, within the device's memory.
  virtual std::size_t sets_for(Bytes footprint) const = 0;
  // What is known of a program beside its timing: registers, instruction mix, counters. Part of the
  // profile (docs/json.md). `at` is the case that counters are taken on.
  virtual Task<Result<Json>> facts(const KernelTask& task, const Program& program,
                                   const Case& at) = 0;
  // In how many fresh processes a timing is confirmed: where memory lies by chance, one is a draw.
  virtual std::size_t confirmations() const { return 1; }
  // Whether facts() would disturb a timing that goes on beside it.
  virtual bool facts_disturb() const { return true; }
  // How many rigs it keeps ready at most, for candidates that come one after the other.
  virtual std::size_t max_ready() const { return 0; }
  virtual std::size_t ready() const { return 0; }  // how many there are now
  // Whether that takes less time than a compiler and no device: then it is done beside every one.
  virtual bool starts_beside_compiling() const { return false; }
  // Makes ready ahead what candidates need: rigs up to `full`, if fewer than `least` are left.
  // Called between jobs or beside a compiler, when nothing is timed and, if it disturbs, the device is ours.
  virtual Result<void> replenish(std::size_t /*least*/, std::size_t /*full*/) { return {}; }
  // A small step of making memory ready for the next timing; false: there is enough.
  virtual bool make_memory_ahead() { return false; }
  // Until what was made ready ahead disturbs nobody any more.
  virtual Task<Result<void>> settle() { co_return Result<void>(); }
  // Does the device work? Asked of a fresh process when a job has failed; rigs ask by themselves after a crash.
  virtual Task<Result<void>> canary() = 0;
};

}  // namespace specgen
