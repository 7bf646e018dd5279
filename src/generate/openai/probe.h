#pragma once
// Finds out what an endpoint can do, by trying: whether it answers and streams, where its reasoning is,
// which way to fork works, whether a cancel stops it, whether its prefix cache is hit, whether it counts.
// A handful of small calls, each in the ledger. `specgen doctor --model` shows the report; a model takes
// what it needs from it with OpenAiModel::use().

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
  limited,   // works, but less than it could
  bad,       // does not work
  not_told,  // the server does not let us see
};

struct ProbeStep {
  std::string id;    // stable: reachable, streams, reasoning, fork, cancel, cache, usage
  std::string name;  // for people
  ProbeFinding finding = ProbeFinding::not_told;
  std::string detail;
  std::string advice;  // what would better it; empty if there is nothing
};

struct TriedFork {
  ForkStrategy strategy = ForkStrategy::user_turn;
  bool works = false;
  std::string detail;
};

struct ProbeReport {
  std::vector<ProbeStep> steps;
  std::vector<TriedFork> forks;  // in the order of trying; the last may be the one that works
  ProbedTraits traits;
  Duration first_token{};  // of the first stream

  bool usable() const;  // it streams answers, and a fork works
};

// One question that costs nothing: a server that says what it is gets its profile, where that is a guess so far.
Task<void> recognise(OpenAiModel& model, Duration limit);

// Never fails: what does not work is in the report. The model is left using what was found.
Task<ProbeReport> probe(Loop& loop, OpenAiModel& model, Duration limit_per_call);

}  // namespace specgen
