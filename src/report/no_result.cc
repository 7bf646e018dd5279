#include "report/no_result.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <map>

#include "base/json.h"
#include "base/text.h"
#include "evaluate/host/tool_run.h"

namespace specgen {
namespace {

struct Ends {
  std::int64_t all = 0;  // iterations that ended, but for interrupted ones
  std::int64_t failed = 0;
  std::int64_t no_kernel = 0;
  std::string failure;  // of the last that failed
  std::string answer;   // of the last without a kernel
};

Ends ends_of(const RunState& state, const TaskState& task) {
  Ends ends;
  for (IterationId id : task.iterations) {
    const auto& ended = state.iterations.at(id).ended;
    if (!ended || ended->end == IterationEnd::interrupted) continue;
    ++ends.all;
    std::string note = printable(first_line(ended->note));
    if (ended->end == IterationEnd::failed) {
      ++ends.failed;
      ends.failure = std::move(note);
    } else if (ended->end == IterationEnd::no_kernel) {
      ++ends.no_kernel;
      ends.answer = std::move(note);
    }
  }
  return ends;
}

struct Verdicts {
  std::int64_t all = 0;
  std::int64_t most = 0;
  Verdict commonest = Verdict::harness_error;
};

Verdicts verdicts_of(const RunState& state, const TaskState& task) {
  Verdicts verdicts;
  std::map<Verdict, std::int64_t> counts;
  for (CandidateId id : task.candidates) {
    const CandidateState& candidate = state.candidates.at(id);
    if (!candidate.judged || candidate.judged->withdrawn || candidate.found.shadow) continue;
    ++verdicts.all;
    std::int64_t count = ++counts[candidate.judged->verdict];
    if (count <= verdicts.most) continue;
    verdicts.most = count;
    verdicts.commonest = candidate.judged->verdict;
  }
  return verdicts;
}

std::string doctor_command(const RunData& run) {
  auto manifest = parse_json(run.manifest);
  std::string model = manifest ? text_at(*manifest, "model") : "";
  return fmt::format("specgen doctor --model {}", model.empty() ? "MODEL" : model);
}

std::string noted(std::string reason, const std::string& note) {
  return note.empty() ? reason : fmt::format("{}: {}", reason, note);
}

}  // namespace

std::optional<NoResult> why_no_result(const RunData& run, std::uint32_t task) {
  const TaskState& its = run.state.tasks[task];
  if (its.best.value != 0) return std::nullopt;
  Verdicts verdicts = verdicts_of(run.state, its);
  if (verdicts.all > 0) {
    return NoResult{
        fmt::format("none of the {} candidates is correct and profiled; most frequent "
                    "verdict: {} ({} of {})",
                    verdicts.all, to_string(verdicts.commonest), verdicts.most, verdicts.all),
        "the evidence of each candidate says what is wrong with it"};
  }
  Ends ends = ends_of(run.state, its);
  if (ends.all > 0 && ends.failed == ends.all) {
    return NoResult{noted("the model did not answer", ends.failure),
                    fmt::format("check it with `{}`", doctor_command(run))};
  }
  if (ends.all > 0 && ends.no_kernel > 0) {
    return NoResult{
        noted(fmt::format("{} of {} answers have no kernel", ends.no_kernel, ends.all),
              ends.answer),
        fmt::format("check the model with `{}`, or raise --max-tokens", doctor_command(run))};
  }
  std::string reason = ends.all == 0 ? "no iteration has ended yet" : "no candidate was evaluated";
  switch (run.status()) {
    case RunStatus::running:
      return NoResult{reason, "the run continues: look again later"};
    case RunStatus::interrupted:
      return NoResult{
          reason + ", and the run was interrupted",
          fmt::format("continue it with `specgen optimize --resume {}`", run.folder.string())};
    case RunStatus::ended:
      break;
  }
  return NoResult{fmt::format("{}; the run was ended by {}", reason, run.state.ended),
                  "start it again with a larger budget"};
}

}  // namespace specgen
