#pragma once
// The types of scheduling: what is to be evaluated, in which stages, and the result. Plain data.
//
// A candidate goes through stages: compile (in a compile slot, which holds no device), then validate and profile, each
// on a device that it has for itself. Where the stages cannot be taken apart (a ModelNew class), `evaluate`
// does it all on one device. `tune` comes later, for what proved good, when nothing else wants the device.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/assert.h"
#include "base/id.h"
#include "base/units.h"
#include "evaluate/task/expression.h"
#include "evaluate/verdict.h"

namespace specgen {

struct CandidateTag {
  static constexpr char prefix = 'c';
};
using CandidateId = Id<CandidateTag>;
struct IterationTag {
  static constexpr char prefix = 'i';
};
using IterationId = Id<IterationTag>;  // of the whole run: no two tasks share one
struct DeviceTag {
  static constexpr char prefix = 'd';
};
using DeviceId = Id<DeviceTag>;  // of a pool, over all hosts

enum class Stage : std::uint8_t { compile, validate, profile, evaluate, tune };
inline constexpr std::size_t kStages = 5;
std::string_view to_string(Stage stage);

enum class Origin : std::uint8_t { main, fork, harvest };
std::string_view to_string(Origin origin);

struct Candidate {
  CandidateId id;
  std::string task;     // as for load_task(), or a Python file
  std::string backend;  // "cpu" or "cuda"
  std::string source;
  Origin origin = Origin::main;
  IterationId iteration;
  Values shapes = {};      // constants of a Python file, replaced
  bool model_new = false;  // Python with a class ModelNew
  bool shadow = false;     // not used: an equal candidate still counts as new
};

// A stretch of work, for pictures and for the accounts. Times are the loop's.
struct StageSpan {
  Stage stage = Stage::compile;
  std::string device;  // "cpu:0"; of a compile slot: see kCompileSlots
  Time queued = {};
  Time started = {};
  Time ended = {};
};

// What a candidate's way through the stages came to.
struct Judged {
  Verdict verdict = Verdict::harness_error;
  Evidence evidence = {};
  Speedup speedup = {};             // confirmed by the profile; of one that is ok
  bool profiled = false;            // it reached the profile and came out ok: this is feedback
  bool withdrawn = false;           // no waiter was left; nothing else is filled in
  bool repeated = false;            // an equal candidate had been judged, or was under way
  std::string evaluation = "null";  // JSON, schema specgen.evaluation
  std::string feedback = {};        // text for a prompt
  std::vector<StageSpan> spans = {};
};

// What the machine or the harness did says nothing about a kernel.
inline bool is_candidate_fault(Verdict verdict) {
  return verdict != Verdict::ok && verdict != Verdict::harness_error &&
         verdict != Verdict::unstable_timing;
}
inline bool is_candidate_fault(const Judged& judged) {
  return !judged.withdrawn && is_candidate_fault(judged.verdict);
}

// New knowledge about a kernel that works: what a search learns from.
inline bool is_feedback(const Judged& judged) {
  return judged.profiled && judged.verdict == Verdict::ok && !judged.repeated;
}

}  // namespace specgen
