#pragma once
// The judge of one device: from a candidate's source to its verdict. It alone holds the run's secret, the expected
// outputs and the clock; candidates run in other processes. The stages of an evaluation:
//
//   compile    (needs no device)
//   validate   every case, then a quick estimate of the speed, called screen
//   tune       only candidates with tunables
//   profile    timing confirmed in fresh processes, and facts for feedback
//
// A task is prepared once: cases drawn, references computed, the baseline compiled and checked. One job at a time, on
// the loop of the JudgeContext. A cancelled job leaves the judge usable; its rig is closed.

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "evaluate/judge/device.h"
#include "evaluate/judge/evaluation.h"
#include "evaluate/judge/input_source.h"
#include "evaluate/judge/judge_context.h"
#include "evaluate/pytorch/vendor.h"
#include "evaluate/task/kernel_task.h"

namespace specgen {

struct Python;      // pytorch/python_process.h
struct PythonHost;  // the same

// How long a case is timed: until its interval is within ± `narrow`, or the budget is spent.
struct TimingEffort {
  Duration budget{};
  double narrow = 0.01;
  std::size_t min_samples = 12;
};

struct JudgeLimits {
  Duration call = std::chrono::seconds(10);                           // one call of a candidate
  TimingEffort screen = {std::chrono::milliseconds(80), 0.03, 4};     // in validate
  TimingEffort confirm = {std::chrono::milliseconds(300), 0.01, 12};  // in profile
  Duration sweep = std::chrono::seconds(10);                          // all tunables together
};

// One comparison with the reference: a case, with inputs from one seed.
struct CheckPoint {
  Case at;
  std::uint64_t seed = 0;
  std::vector<Expected> expected = {};
  std::vector<Tolerance> tolerances = {};
  std::vector<double> baseline_rms = {};  // the baseline's own error; empty until it was called
};

// What to evaluate, as the user named it.
struct EvaluationJob {
  std::string task;  // as for load_task(), or a Python file
  std::string source;
  Values tunables = {};
  Values shapes = {};      // replaced constants of a Python file
  bool model_new = false;  // the source is Python with a class ModelNew
};

struct PreparedTask {
  KernelTask task;
  std::unique_ptr<PythonHost> python;  // of a PyTorch task; outlives the source
  std::unique_ptr<InputSource> source;
  Program baseline;
  std::vector<CheckPoint> checks;
  std::vector<Case> timed;
  std::map<std::size_t, std::vector<double>> timed_scales = {};  // by index in `timed`

  // The timed case on which facts are taken.
  const Case& heaviest() const { return *std::ranges::max_element(timed, {}, &Case::min_bytes); }
};

struct Validation {
  Finding finding;
  std::vector<CaseResult> cases;  // all of the task's, also those that were not run
  Speedup screen;                 // only if the finding is ok
  Breakdown breakdown = {};
};

struct Profiled {
  Finding finding;
  std::vector<CaseResult> cases;  // the timed ones
  Speedup speedup;
  std::string facts = "null";  // JSON, from Device::facts() and TestRig::count()
};

struct Tuned {
  Values best;
  Program program;
  Speedup screen;
  std::size_t tried = 0;
  std::size_t combinations = 0;
};

class Judge {
 public:
  using Progress = std::function<void(std::string_view)>;  // "validating case 3 of 9"

  Judge(JudgeContext& context, Device& device, Secret secret, JudgeLimits limits);
  ~Judge();

  Task<Result<Evaluation>> evaluate(EvaluationJob job);  // all stages

  // Errors are the task's fault (bad_task) or the host's.
  Task<Result<PreparedTask*>> prepare(std::string where, Values shapes = {});
  // Inputs and outputs of a PyTorch file's module, as JSON for description.h; computes nothing.
  Task<Result<std::string>> describe_python(std::string file, Values shapes);
  Task<Result<Compiled>> compile(const PreparedTask& prepared, std::string source, Values tunables);
  Task<Result<Validation>> validate(PreparedTask& prepared, const Program& candidate);
  Task<Result<Profiled>> profile(PreparedTask& prepared, const Program& candidate,
                                 const Validation& validation);
  // Tries combinations of tunables by successive halving within limits.sweep. `validated` has the
  // default values.
  Task<Result<Tuned>> tune(PreparedTask& prepared, const Program& validated,
                           const Validation& validation);

  // The parts of an Evaluation, stage by stage; evaluate() does all of this itself.
  Evaluation begin_evaluation(std::string task);
  void add_validation(const PreparedTask& prepared, const Program& candidate,
                      const Validation& validation, Evaluation& to) const;
  Task<void> add_profile(const PreparedTask& prepared, Profiled profiled, VendorTime vendor,
                         Evaluation& to);

  // JSON, docs/reference/json.md; null if it is not ok.
  std::string profile_of(const Profiled& profiled) const;

  Progress on_progress;
  std::function<Task<Result<void>>()> before_device;  // awaited before the device is used
  std::function<Task<void>()> while_compiling;        // run beside a compilation

 private:
  enum class Ceiling : std::uint8_t { as_known, measured_again };
  struct TimedRounds {
    std::function<std::vector<SetInput>(std::size_t round)> inputs_of;
    std::vector<Tolerance> tolerances;
    std::vector<double> scales;  // per output, from the baseline's outputs; empty until known
  };

  void report(std::string_view progress) const;

  // Preparing (judge.cc, python_route.cc).
  Task<Result<void>> prepare_native(PreparedTask& prepared);
  Task<Result<void>> prepare_python(PreparedTask& prepared, std::string file, Values shapes);
  Task<Result<void>> prepare_checks(PreparedTask& prepared);
  Task<Result<std::unique_ptr<TestRig>>> open_rig(const PreparedTask& prepared,
                                                  const Program& candidate, TestRigLimits limits);

  // Stages of evaluate() (judge.cc, python_route.cc).
  Task<Result<Compiled>> prepare_and_compile(EvaluationJob job, PreparedTask*& prepared);
  Task<Result<void>> tune_and_validate(PreparedTask& prepared, Program& program,
                                       Validation& validation, Evaluation& evaluation);
  Task<Result<Evaluation>> evaluate_model_new(EvaluationJob job, Evaluation evaluation);

  // Checking against the reference (validate.cc).
  Task<Result<Validation>> check_and_screen(TestRig& rig, PreparedTask& prepared, Breakdown& spent);
  Task<Result<Validation>> check_all(TestRig& rig, PreparedTask& prepared, Breakdown& spent);
  Task<Result<Finding>> check_group(PreparedTask& prepared, TestRig& rig,
                                    std::span<CheckPoint> points, Placement placement,
                                    std::span<CaseResult*> results);
  Task<Result<Finding>> check(PreparedTask& prepared, TestRig& rig, std::size_t set,
                              CheckPoint& point, CaseResult& result);
  Task<Result<void>> check_baseline(PreparedTask& prepared, TestRig& rig, std::size_t set,
                                    CheckPoint& point);
  Task<Result<Finding>> call_candidate(TestRig& rig, std::size_t set, std::size_t calls_to_come);

  // Timing against the baseline (timing.cc).
  // `counted`: where TestRig::count() puts its JSON; null: nothing is counted.
  Task<Result<Validation>> screen(PreparedTask& prepared, TestRig& rig, TimingEffort effort,
                                  std::string* counted = nullptr);
  Task<Result<Validation>> screen_in_fresh_rig(PreparedTask& prepared, const Program& candidate,
                                               TimingEffort effort, std::string* counted = nullptr);
  Task<Result<Finding>> time_case(PreparedTask& prepared, TestRig& rig, std::size_t number,
                                  TimingEffort effort, CaseResult& result);
  Task<Result<Finding>> time_rounds(TestRig& rig, const Case& at, TimedRounds& rounds,
                                    TimingEffort effort, CaseResult& result);

  // Confirming (profile.cc).
  Task<Result<Validation>> confirm(PreparedTask& prepared, const Program& candidate,
                                   std::string& counted);
  Task<void> describe_program(const PreparedTask& prepared, const Program& candidate,
                              std::string& into);
  Task<Result<void>> load_ceilings(Ceiling how = Ceiling::as_known);
  Task<Result<void>> compare_with_ceilings(const PreparedTask& prepared,
                                           std::vector<CaseResult>& cases);

  // PyTorch (python_route.cc).
  Task<void> find_torch();
  // How many times as fast as the vendor's library, over the timed cases; nothing without one.
  Task<std::optional<double>> compare_with_vendor(const PreparedTask& prepared,
                                                  const std::vector<CaseResult>& cases,
                                                  VendorTime how);

  JudgeContext& context_;
  Device& device_;
  Secret secret_;
  JudgeLimits limits_;
  std::map<std::string, std::unique_ptr<PreparedTask>> tasks_;
  std::optional<Ceilings> ceilings_;
  std::int64_t called_ns_ = 0;      // in calls of the candidate, for its checks or one timed case
  std::int64_t measured_ns_ = 0;    // in calls, inputs and comparisons, for this evaluation
  std::uint64_t rigs_opened_ = 0;   // part of the seeds: no two rigs get the same inputs
  std::uint64_t expectations_ = 0;  // made so far; the key of the last one
  std::unique_ptr<Python> torch_;   // times vendors' libraries; null: not installed
  bool looked_for_torch_ = false;
};

}  // namespace specgen
