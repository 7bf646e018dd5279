#pragma once
// Tests what an endpoint can do: whether it answers and streams, where its reasoning is,
// which fork strategy works, whether a cancel stops it, whether its prefix cache is hit, whether it reports usage.
// A few small calls, each in the ledger. `specgen doctor --model` shows the report; a model applies
// the results with OpenAiModel::use().

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "generate/openai/openai_model.h"
#include "runtime/task.h"

namespace specgen {

enum class ProbeFinding {
  good,
  limited,  // works, but less than it could
  bad,      // does not work
  unknown,  // the server does not show it
};

struct ProbeStep {
  std::string id;    // stable: reachable, streams, reasoning, fork, cancel, cache, usage
  std::string name;  // for display
  ProbeFinding finding = ProbeFinding::unknown;
  std::string detail;
  std::string advice;  // how to improve it; may be empty
};

struct TriedFork {
  ForkStrategy strategy = ForkStrategy::user_turn;
  bool works = false;
  std::string detail;
};

struct ProbeReport {
  std::vector<ProbeStep> steps;
  std::vector<TriedFork> forks;  // in the order they were tried; if one works, it is the last
  ProbedTraits traits;
  Duration first_token{};  // of the first stream

  bool usable() const;  // it streams answers, and a fork works
};

// One request without tokens: if the server names itself and the profile is a guess so far, its profile is used.
Task<void> identify_server(OpenAiModel& model, Duration limit);

// Never fails: what does not work is in the report. The model uses the results afterwards.
Task<ProbeReport> probe(Loop& loop, OpenAiModel& model, Duration limit_per_call);

}  // namespace specgen
