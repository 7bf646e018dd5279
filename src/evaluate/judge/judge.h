#pragma once
// The judge of one device. It alone holds the run's secret, the expectations and the clock; what it
// judges runs in other processes. A candidate's life:
//
//   compile (holds no device) → validate: every case, then a quick screen of its speed
//                             → profile: confirmed timing in fresh processes, and facts for feedback
//
// A task is prepared once: cases drawn, references computed, the baseline compiled and checked. A
// candidate then waits for none of that. One job at a time.

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
  std::size_t fewest = 12;  // samples
};

struct JudgeLimits {
  Duration call = std::chrono::seconds(10);                           // one call of a candidate
  TimingEffort screen = {std::chrono::milliseconds(80), 0.03, 4};     // in validate
  TimingEffort confirm = {std::chrono::milliseconds(300), 0.01, 12};  // in profile
  Duration sweep = std::chrono::seconds(10);                          // all tunables together
};

// One look at an output: a case, with inputs from one seed.
struct CheckPoint {
  Case at;
  std::uint64_t seed = 0;
  std::vector<Expected> expected = {};  // empty: only the baseline can tell
  std::vector<Tolerance> tolerances = {};
  std::vector<double> baseline_rms = {};  // of the baseline's own error; empty until it was asked
};

// What is to be judged, as the user said it.
struct EvaluationJob {
  std::string task;  // as for load_task(), or a Python file
  std::string source;
  Values tunables = {};
  Values shapes = {};      // constants of a Python file, replaced
  bool model_new = false;  // the source is Python with a class ModelNew
};

struct PreparedTask {
  KernelTask task;
  std::unique_ptr<PythonHost> python;  // of a PyTorch task; outlives the source
  std::unique_ptr<InputSource> source;
  Program baseline;
  std::vector<CheckPoint> checks;
  std::vector<Case> timed;
  std::map<std::size_t, std::vector<double>> timed_scales = {};  // by the number of the case

  // The timed case that facts are taken on.
  const Case& heaviest() const { return *std::ranges::max_element(timed, {}, &Case::min_bytes); }
};

struct Validation {
  Finding finding;
  std::vector<CaseResult> cases;
  Speedup screen;  // of a candidate that is ok
  Breakdown breakdown = {};
};

struct Profiled {
  Finding finding;
  std::vector<CaseResult> cases;  // the timed ones
  Speedup speedup;
  std::string facts = "null";  // JSON, as the device told them
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

  // Errors are the task's fault (bad_task) or the host's.
  Task<Result<PreparedTask*>> prepare(std::string where, Values shapes = {});
  // What a PyTorch file's module takes and gives, as description.h reads it; nothing is computed.
  Task<Result<std::string>> describe_python(std::string file, Values shapes);
  Task<Result<Compiled>> compile(const PreparedTask& prepared, std::string source, Values tunables);
  Task<Result<Validation>> validate(PreparedTask& prepared, const Program& candidate);
  Task<Result<Profiled>> profile(PreparedTask& prepared, const Program& candidate,
                                 const Validation& validation);
  // Every combination of tunables, by successive halving within limits.sweep. The default is what
  // `validated` was judged with.
  Task<Result<Tuned>> tune(PreparedTask& prepared, const Program& validated,
                           const Validation& validation);

  Task<Result<Evaluation>> evaluate(EvaluationJob job);  // all of it

  // What an evaluation says after each stage; evaluate() goes through them all.
  Evaluation begin_evaluation(std::string task);
  void add_validation(const PreparedTask& prepared, const Program& candidate,
                      const Validation& validation, Evaluation& to) const;
  Task<void> add_profile(const PreparedTask& prepared, Profiled profiled, VendorTime vendor,
                         Evaluation& to);

  // JSON, docs/json.md; null if it is not ok.
  std::string profile_of(const Profiled& profiled) const;

  Progress on_progress;
  std::function<Task<Result<void>>()> before_device;  // awaited before the device is used
  std::function<Task<void>()> while_compiling;        // run while a candidate is compiled

 private:
  Task<Result<std::unique_ptr<TestRig>>> open_rig(const PreparedTask& prepared,
                                                  const Program& candidate, TestRigLimits limits);
  Task<Result<Validation>> validate_on(TestRig& rig, PreparedTask& prepared, Breakdown& spent);
  Task<Result<Validation>> check_all(TestRig& rig, PreparedTask& prepared, Breakdown& spent);
  Task<Result<Finding>> check_group(PreparedTask& prepared, TestRig& rig,
                                    std::span<CheckPoint> points, Placement placement,
                                    CaseResult& result);
  Task<Result<Finding>> check(PreparedTask& prepared, TestRig& rig, std::size_t set,
                              CheckPoint& point, CaseResult& result);
  Task<Result<Finding>> call_candidate(TestRig& rig, std::size_t set, std::size_t stands_for);
  Task<Result<Finding>> time_case(PreparedTask& prepared, TestRig& rig, const Case& at,
                                  std::size_t number, TimingEffort effort, CaseResult& result);
  // `counted`: where to put what TestRig::count() tells, if it is to be asked.
  Task<Result<Validation>> screen(PreparedTask& prepared, TestRig& rig, TimingEffort effort,
                                  std::string* counted = nullptr);
  Task<Result<Validation>> screen_afresh(PreparedTask& prepared, const Program& candidate,
                                         TimingEffort effort, std::string* counted = nullptr);
  Task<Result<void>> prepare_native(PreparedTask& prepared);
  Task<Result<void>> prepare_python(PreparedTask& prepared, std::string file, Values shapes);
  Task<Result<void>> prepare_checks(PreparedTask& prepared);
  Task<Result<Evaluation>> evaluate_model_new(EvaluationJob job, Evaluation evaluation);
  enum class Ceiling : std::uint8_t { as_known, measured_again };
  Task<Result<void>> know_ceilings(Ceiling how = Ceiling::as_known);
  Task<void> look_for_torch();
  // How many times as fast as the vendor's library, over the timed cases; nothing without one.
  Task<std::optional<double>> compare_with_vendor(const PreparedTask& prepared,
                                                  const std::vector<CaseResult>& cases,
                                                  VendorTime how);
  Task<Result<Validation>> confirm(PreparedTask& prepared, const Program& candidate,
                                   std::string& counted);
  Task<void> look_at_program(const PreparedTask& prepared, const Program& candidate,
                             std::string& into);
  void judge_physics(const Case& at, CaseResult& result) const;
  void tell(std::string_view what) const;

  JudgeContext& context_;
  Device& device_;
  Secret secret_;
  JudgeLimits limits_;
  std::map<std::string, std::unique_ptr<PreparedTask>> tasks_;
  std::optional<Ceilings> ceilings_;
  std::int64_t called_ns_ = 0;      // of the candidate, in its checks or in the case that is timed
  std::int64_t measured_ns_ = 0;    // in calls, inputs and looks, for this evaluation
  std::uint64_t rigs_opened_ = 0;   // opened so far: no two see the same numbers
  std::uint64_t expectations_ = 0;  // made so far: each has a key of its own
  std::unique_ptr<Python> torch_;   // which vendors' libraries are timed with; null: there is none
  bool looked_for_torch_ = false;
};

}  // namespace specgen
