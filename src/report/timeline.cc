#include "report/timeline.h"

#include <algorithm>

#include "base/assert.h"

namespace specgen {
namespace {

void add_calls(const RunState& run, Timeline& to) {
  for (const auto& [id, call] : run.calls) {
    if (!call.done) continue;  // its end was not recorded
    auto iteration = run.iterations.find(call.sent.iteration);
    to.spans.push_back(
        {.phase = call.sent.purpose == "fork" ? Phase::fork : Phase::main,
         .task = iteration == run.iterations.end() ? 0 : iteration->second.begun.task,
         .start = call.done->sent,
         .end = call.done->ended,
         .useful = call.done->outcome != CallOutcome::failed,
         .label = call.sent.purpose});
  }
}

void add_stages(const RunState& run, const CandidateState& candidate,
                const std::vector<StageSpan>& spans, bool is_tuning, Timeline& to) {
  auto iteration = run.iterations.find(candidate.found.iteration);
  for (auto span = spans.begin(); span != spans.end(); ++span) {
    const bool is_last =
        is_tuning || std::none_of(span + 1, spans.end(), [&](const StageSpan& later) {
          return later.stage == span->stage;
        });
    to.spans.push_back(
        {.phase = phase_of(span->stage),
         .device = span->stage == Stage::compile ? std::string() : span->device,
         .task = iteration == run.iterations.end() ? 0 : iteration->second.begun.task,
         .start = span->started.time_since_epoch(),
         .end = span->ended.time_since_epoch(),
         .useful = is_last && !candidate.judged->withdrawn,
         .label = to_string(candidate.found.id)});
  }
}

// A stage that was repeated had failed before. The stages of a repeated candidate belong to the first one.
void add_candidate(const RunState& run, const CandidateState& candidate, Timeline& to) {
  if (!candidate.judged || candidate.judged->repeated) return;
  add_stages(run, candidate, candidate.judged->spans, false, to);
  if (candidate.tuned) add_stages(run, candidate, candidate.tuned->spans, true, to);
}

}  // namespace

std::string_view to_string(Phase phase) {
  constexpr std::array<std::string_view, kPhases> kNames{
      "reasoning", "forks", "compile", "validate", "profile", "evaluate", "tune"};
  return kNames[static_cast<std::size_t>(phase)];
}

Phase phase_of(Stage stage) {
  switch (stage) {
    case Stage::compile:
      return Phase::compile;
    case Stage::validate:
      return Phase::validate;
    case Stage::profile:
      return Phase::profile;
    case Stage::evaluate:
      return Phase::evaluate;
    case Stage::tune:
      return Phase::tune;
  }
  SG_ASSERT(false, "unknown stage");
}

Timeline timeline_of(const RunState& run) {
  Timeline timeline{.devices = run.run.devices, .end = run.last_at};
  add_calls(run, timeline);
  for (const auto& [id, candidate] : run.candidates) add_candidate(run, candidate, timeline);
  for (const TimelineSpan& span : timeline.spans) {
    timeline.end = std::max(timeline.end, span.end);
    if (!on_device(span.phase)) continue;
    auto known = std::ranges::find(timeline.devices, span.device);
    if (known == timeline.devices.end()) timeline.devices.push_back(span.device);
  }
  return timeline;
}

}  // namespace specgen
