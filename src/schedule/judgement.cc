#include "schedule/judgement.h"

#include <fmt/core.h>

#include <boost/json.hpp>

#include "base/hash.h"
#include "base/json_storage.h"
#include "base/text.h"
#include "evaluate/judge/evaluation.h"
#include "schedule/normalised_source.h"

namespace specgen {
namespace {

constexpr int kSchemaVersion = 1;

Duration time_in(const std::vector<StageSpan>& spans, Stage stage) {
  Duration total{};
  for (const StageSpan& span : spans) {
    if (span.stage == stage) total += span.ended - span.started;
  }
  return total;
}

Evaluation as_far_as_we_know(const Candidate& candidate, const Judged& judged,
                             const std::string& device_model) {
  Evaluation known{.task = candidate.task,
                   .device = judged.spans.empty() ? "" : judged.spans.back().device,
                   .device_name = device_model,
                   .sandbox = "unknown",
                   .trust = "full",
                   .verdict = judged.verdict,
                   .evidence = judged.evidence};
  if (judged.verdict == Verdict::ok) known.speedup = judged.speedup;
  known.timings = {.compile = time_in(judged.spans, Stage::compile),
                   .validate = time_in(judged.spans, Stage::validate),
                   .profile = time_in(judged.spans, Stage::profile)};
  if (!judged.spans.empty()) {
    known.timings.total = judged.spans.back().ended - judged.spans.front().started;
  }
  return known;
}

}  // namespace

std::string key_of(const Candidate& candidate, std::string_view device_models) {
  std::string text = fmt::format("{}\n{}\n{}\n{}\n{}\n", candidate.task, candidate.backend,
                                 device_models, candidate.model_new, candidate.shadow);
  for (const auto& [name, value] : candidate.shapes) text += fmt::format("{}={}\n", name, value);
  text += '\0';
  text += candidate.model_new ? without_python_comments(candidate.source)
                              : normalised_source(candidate.source);
  return sha256_hex(text);
}

Judged judgement(const Candidate& candidate, Stage last, StageOutcome outcome,
                 const std::string& device_model, std::vector<StageSpan> spans) {
  Judged judged{.verdict = outcome.verdict,
                .evidence = std::move(outcome.evidence),
                .spans = std::move(spans)};
  bool is_confirmed = last == Stage::profile || last == Stage::evaluate;
  if (judged.verdict == Verdict::ok && is_confirmed) {
    judged.speedup = outcome.speedup;
    judged.profiled = true;
  }
  Evaluation known = as_far_as_we_know(candidate, judged, device_model);
  judged.feedback = outcome.feedback.empty() ? feedback_text(known) : std::move(outcome.feedback);

  boost::json::monotonic_resource memory;
  boost::json::object json({{"schema", "specgen.evaluation"}, {"schema_version", kSchemaVersion}},
                           &memory);
  auto reported = outcome.evaluation == "null" ? Result<Json>(nullptr)
                                               : parse_json(outcome.evaluation, &memory);
  const auto* said = reported ? reported->if_object() : nullptr;
  Json known_json = to_json(known);
  json.reserve(json.size() + known_json.get_object().size() + 1);
  for (const auto& [key, value] : known_json.get_object()) {
    const Json* better = said ? said->if_contains(key) : nullptr;
    json[key] = better ? *better : value;
  }
  json["feedback"] = judged.feedback;
  judged.evaluation = compact_json(Json(std::move(json)));
  return judged;
}

}  // namespace specgen
