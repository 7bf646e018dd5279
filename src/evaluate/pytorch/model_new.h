#pragma once
// ModelNew candidates: a Python file with a class that takes the place of Model, with inline C++,
// inline CUDA or Triton if it likes. It runs in a Python process of its own, in a box; the judge
// keeps inputs, expected outputs and a clock of its own. That is weaker than what native candidates
// get, because the candidate's Python shares a process with the timer, and every outcome says so.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "evaluate/pytorch/python_task.h"
#include "evaluate/task/cases.h"
#include "evaluate/verdict.h"

namespace specgen {

struct ModelNewRequest {
  std::string source;
  Secret secret;
  int trials = 3;                                 // checked against fp64, not timed
  int rounds = 15;                                // timed; 0: validate only
  Duration load_limit = std::chrono::minutes(3);  // importing it may compile
  Duration call_limit = std::chrono::seconds(10);
};

struct ModelNewOutcome {
  Finding finding;
  std::string trust = "weak: candidate's Python shares a process with its timer";
  std::string parameters_by = {};         // how ModelNew got the parameters: name, order, none
  std::vector<std::string> remarks = {};  // on how it was built
  Duration load_took{};
  bool exact = false;  // expected outputs were in fp64; else in the module's own dtype
  std::vector<double> baseline_ns = {};   // the eager module, call by call
  std::vector<double> candidate_ns = {};  // on the same inputs, taken in turn
  Speedup speedup = {};                   // zeros if it was not timed
};

// An Error is ours, the host's or the task's; whatever the candidate does is a finding.
Task<Result<ModelNewOutcome>> judge_model_new(PythonTask& task, ModelNewRequest request);

// Of ratios baseline / candidate, call by call: the median and its distribution-free 95 % interval.
Speedup speedup_of(const std::vector<double>& baseline_ns, const std::vector<double>& candidate_ns);

// How a call was seen from both sides.
struct Stamps {
  double told_ns = 0;  // by the candidate's process, call and copying out
  double seen_ns = 0;  // by the judge, from question to answer
  double way_ns = 0;   // of an empty question to the reference process, just before
};
// Whether most calls took more than 20 %, 1 ms and the usual way of a message longer than was told: a
// clock that was tampered with, or work that went on. A single disturbed call is no proof.
bool clock_disagrees(const std::vector<Stamps>& stamps);

}  // namespace specgen
