#pragma once
// From the outcomes of the stages to the result of a candidate.

#include <string>

#include "schedule/host_client.h"
#include "schedule/job.h"

namespace specgen {

// Names equal work: the same normalised source for the same task, shapes and kind of device.
std::string key_of(const Candidate& candidate, std::string_view device_models);

// `last` is the stage that ended the candidate's way. Where the host reported only a part of the evaluation, the rest
// is filled in: all keys of the schema are always there.
Judged judgement(const Candidate& candidate, Stage last, StageOutcome outcome,
                 const std::string& device_model, std::vector<StageSpan> spans);

}  // namespace specgen
