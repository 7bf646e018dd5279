#pragma once
// `specgen eval TASK CANDIDATE`: one candidate, judged here and now. Exit code 0 only when it is ok;
// 1 for any other verdict; a task's fault is 2, the host's 3.

#include <string>

#include "base/error.h"
#include "base/json.h"
#include "cli/command_line.h"
#include "cli/settings.h"

namespace specgen {

Result<ExitCode> evaluate_candidate(const EvaluateCandidate& command, const Settings& settings);

// The same for a source that is no file, with the answer instead of its print: schema specgen.evaluation without the
// two schema keys. `command.candidate` is what it is called.
Result<Json> judge_source(const EvaluateCandidate& command, std::string source,
                          const Settings& settings);

// For a person: the verdict first, then what it rests on.
std::string evaluation_text(const Json& evaluation, bool colour);

}  // namespace specgen
