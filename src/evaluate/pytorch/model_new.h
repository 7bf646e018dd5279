#pragma once
// ModelNew candidates: a Python file with a class that replaces Model, possibly with inline C++, inline CUDA or Triton.
// It runs in a Python process in the sandbox; the judge keeps inputs, expected outputs and a second clock.
// This is weaker
// than for native candidates, because the candidate's Python shares a process with the timer, and every
// outcome says so.

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
  int trials = 3;                                 // compared with fp64, not timed
  int rounds = 15;                                // timed; 0: validate only
  Duration load_limit = std::chrono::minutes(3);  // importing it may compile
  Duration call_limit = std::chrono::seconds(10);
};

struct ModelNewOutcome {
  Finding finding;
  std::string trust = "weak: candidate's Python shares a process with its timer";
  std::string parameters_by = {};         // how ModelNew got the parameters: name, order, none
  std::vector<std::string> remarks = {};  // about the build
  Duration load_took{};
  bool exact = false;  // expected outputs were in fp64; else in the module's own dtype
  std::vector<double> baseline_ns = {};   // the eager module, call by call
  std::vector<double> candidate_ns = {};  // on the same inputs, taken in turn
  Speedup speedup = {};                   // zeros if it was not timed
};

// An Error is a fault of ours, the host or the task; a fault of the candidate is a finding.
Task<Result<ModelNewOutcome>> judge_model_new(PythonTask& task, ModelNewRequest request);

// Ratio baseline / candidate per call: the median and its distribution-free 95 % interval.
Speedup speedup_of(const std::vector<double>& baseline_ns, const std::vector<double>& candidate_ns);

// The duration of a call, measured on both sides.
struct Stamps {
  double candidate_ns = 0;   // by the candidate's process: call and copy of the outputs
  double judge_ns = 0;       // by the judge: from request to answer
  double round_trip_ns = 0;  // of an empty request to the reference process, just before
};
// Whether most calls took longer than the candidate's process says, by more than 20 %, 1 ms and a round trip: its clock
// was manipulated, or work continued after the call. A single disturbed call proves nothing.
bool clock_disagrees(const std::vector<Stamps>& stamps);

}  // namespace specgen
