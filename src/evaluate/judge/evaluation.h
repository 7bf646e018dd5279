#pragma once
// The result of an evaluation: for a person, for a prompt, for a scheduler. Its JSON is the schema
// specgen.evaluation of docs/reference/json.md.

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/units.h"
#include "evaluate/task/expression.h"
#include "evaluate/verdict.h"

namespace specgen {

enum class CaseStatus { not_run, passed, failed };
std::string_view to_string(CaseStatus status);  // "not run", "passed", "failed"

// The result of one case.
struct CaseResult {
  std::string name;  // hidden cases: only their class
  bool hidden = false;
  bool timed = false;
  CaseStatus status = CaseStatus::not_run;
  double rms_error_ratio = -1;  // RMS error over the baseline's own; < 0: not known
  double weight = 0;
  double baseline_seconds = 0;  // medians
  double candidate_seconds = 0;
  double disturbed = 0;  // share of timings that were not used because something interfered
  double moved = 1;      // see TimedSamples; not told
  Speedup speedup = {};
  double peak_fraction = 0;  // share of the fastest that physics allows
  std::string limit = {};    // which limit binds: memory, cache, compute, launch
  double bytes_per_second = 0;
  double flops_per_second = 0;
};

struct Timings {
  Duration compile{};
  Duration
      measure{};  // of validate and profile: calls, their inputs and the looks at their outputs
  Duration validate{};
  Duration profile{};
  Duration total{};
};

struct Evaluation {
  std::string task;
  std::string device;
  std::string device_name;
  std::string sandbox;  // "L3"
  std::string trust;    // "full", or what weakens it
  Verdict verdict = Verdict::harness_error;
  Evidence evidence = {};
  std::optional<Speedup> speedup = {};  // of a candidate that is ok
  std::optional<double> vendor_ratio = {};
  std::optional<double> peak_fraction = {};
  std::vector<CaseResult> cases = {};
  Values tunables = {};
  std::string profile = "null";         // JSON
  std::vector<std::string> marks = {};  // "fixed-shape"
  Timings timings = {};
};

Json to_json(const Evaluation& evaluation);
Json to_json(const CaseResult& result);
// What to_json() made of one, as far as later stages need it: cases, timings, tunables and marks.
Evaluation evaluation_from_json(const Json& json);

// A few lines for a model about what to do next: which limit binds, how far from it, what the
// compiler and the counters say.
std::string feedback_text(const Evaluation& evaluation);

}  // namespace specgen
