#pragma once
// A candidate on its way through the stages (Flight), and everyone who waits for it (Interest). Equal candidates
// share a flight. An interest lives in the frame of evaluate(): it goes with it.

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/sync.h"
#include "schedule/host_client.h"
#include "schedule/scheduler.h"

namespace specgen {

struct Flight;

struct Interest {
  Interest(Loop& loop, const Candidate& of)
      : candidate(of.id),
        iteration(of.iteration),
        urgency(of.origin == Origin::main ? Urgency::main : Urgency::speculative),
        answered(loop) {}

  CandidateId candidate;
  IterationId iteration;
  Urgency urgency;
  bool is_over = false;  // its iteration has ended, and such are withdrawn
  std::shared_ptr<Flight> flight = {};
  std::optional<Result<Judged>> answer = {};
  Event answered;
};

struct Flight {
  Candidate candidate;  // of the one who came first; stage events carry its id
  std::string key;
  std::uint32_t task = 0;
  std::uint32_t backend = 0;

  Stage stage = Stage::compile;
  JobId job = {};
  bool is_running = false;
  bool is_ended = false;
  bool is_tuning = false;  // it was judged already, and may turn out better still
  Speedup confirmed = {};  // of what is tuned, before
  Values tunables = {};    // that won, once the sweep is over
  Time queued = {};
  std::uint32_t host = 0;  // that has the program; 0: none
  std::string program = {};
  Speedup screen = {};
  std::string evaluation = "null";  // as far as the stages have told
  std::size_t attempts = 0;
  Duration device_time = {};
  std::vector<StageSpan> spans = {};
  std::vector<Interest*> interests = {};

  bool is_wanted() const {
    return std::ranges::any_of(interests, [](const Interest* each) { return !each->is_over; });
  }
  // That of the most urgent who waits.
  Urgency urgency() const {
    Urgency most = Urgency::demoted;
    for (const Interest* each : interests) most = std::min(most, each->urgency);
    return most;
  }
};

}  // namespace specgen
