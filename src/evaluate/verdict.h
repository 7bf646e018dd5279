#pragma once
// The result of judging a candidate, and why. A verdict is about the candidate, never about us: what
// is our own fault is harness_error, and what is the task's fault is an Error.

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"

namespace specgen {

enum class Verdict {
  ok,
  compile_error,
  rejected,  // refused before it ran: a bad directive, state between calls, a forbidden function
  crash,
  timeout,
  out_of_memory,
  out_of_bounds,
  input_modified,
  unwritten,
  nonfinite,
  wrong,
  nondeterministic,
  imprecise,
  unstable_timing,
  suspect,        // faster than the hardware allows
  deferred_work,  // went on working after it had said that it was done
  harness_error,
};
std::string_view to_string(Verdict verdict);
Result<Verdict> parse_verdict(std::string_view name);

// The most informative element. Of a hidden case only its class is reported.
struct WorstElement {
  std::string tensor;
  std::vector<std::int64_t> index;
  double expected = 0;
  double got = 0;
};

// Why, for a person and for the model: `text` is one to a few lines and never contains a seed or a
// hidden shape.
struct Evidence {
  std::string text;
  std::string case_name = {};  // public: "rows=64 cols=1000"; hidden: "hidden (odd)"; or empty
  std::vector<WorstElement> worst = {};  // at most one; public cases only
  int line = 0;                          // of the candidate's source, where one is to blame; else 0
};

struct Finding {
  Verdict verdict = Verdict::ok;
  Evidence evidence = {};
  bool ok() const { return verdict == Verdict::ok; }
};
inline Finding finding(Verdict verdict, std::string text) {
  return {.verdict = verdict, .evidence = {.text = std::move(text)}};
}

Json to_json(const Evidence& evidence);

// The same everywhere: how many times faster than the baseline, with a 95 % interval.
struct Speedup {
  double median = 0;
  double low = 0;
  double high = 0;
};
Json to_json(const Speedup& speedup);

}  // namespace specgen
