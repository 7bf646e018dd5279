// The entries of a run's journal as JSON. Times are whole microseconds since the run began.

#include <boost/json.hpp>

#include "base/json.h"
#include "search/run_state.h"

namespace specgen {
namespace {

using Object = boost::json::object;

std::int64_t microseconds(Duration duration) {
  return std::chrono::duration_cast<std::chrono::microseconds>(duration).count();
}

void add_budgets(Object& body, const RunBudgets& budgets) {
  body["wall_us"] = microseconds(budgets.wall);
  body["tokens"] = budgets.tokens;
  body["dollars"] = budgets.dollars;
  body["iterations"] = budgets.iterations;
}

boost::json::array spans_json(const std::vector<StageSpan>& spans) {
  boost::json::array array;
  for (const StageSpan& span : spans) {
    array.push_back({to_string(span.stage), span.device,
                     microseconds(span.queued.time_since_epoch()),
                     microseconds(span.started.time_since_epoch()),
                     microseconds(span.ended.time_since_epoch())});
  }
  return array;
}

Object tunables_json(const Values& values) {
  Object object;
  for (const auto& [name, value] : values) object[name] = value;
  return object;
}

EntryText entry(std::string type, Object body) {
  return {std::move(type), compact_json(Json(std::move(body)))};
}

}  // namespace

EntryText to_entry(const RunBegun& begun) {
  boost::json::array tasks;
  for (const RunTask& task : begun.tasks) {
    tasks.push_back({{"name", task.name}, {"where", task.where}, {"backend", task.backend}});
  }
  boost::json::array devices(begun.devices.begin(), begun.devices.end());
  Object body{{"tasks", std::move(tasks)},
              {"workflow", begun.workflow},
              {"criterion", begun.criterion},
              {"model", begun.model},
              {"devices", std::move(devices)},
              {"speculate", begun.speculate},
              {"seed", static_cast<std::int64_t>(begun.seed)}};
  add_budgets(body, begun.budgets);
  return entry("run", std::move(body));
}

EntryText to_entry(const RunBudgets& budgets) {
  Object body;
  add_budgets(body, budgets);
  return entry("budgets", std::move(body));
}

EntryText to_entry(const IterationBegun& begun) {
  return entry("iteration", {{"id", begun.id.value}, {"task", begun.task}, {"role", begun.role}});
}

EntryText to_entry(const IterationEnded& ended) {
  Object body{{"id", ended.id.value}, {"end", to_string(ended.end)}, {"tokens", ended.tokens}};
  if (ended.by.value) body["by"] = ended.by.value;
  if (ended.saved_tokens) body["saved"] = ended.saved_tokens;
  Object refused;
  for (std::size_t i = 0; i < kRefusals; ++i) {
    if (ended.refusals[i]) refused[to_string(static_cast<Refusal>(i))] = ended.refusals[i];
  }
  if (!refused.empty()) body["refused"] = std::move(refused);
  if (!ended.note.empty()) body["note"] = ended.note;
  return entry("iteration-ended", std::move(body));
}

EntryText to_entry(const CallSent& sent) {
  return entry("call", {{"id", sent.id},
                        {"iteration", sent.iteration.value},
                        {"purpose", sent.purpose},
                        {"most", sent.max_tokens}});
}

EntryText to_entry(const CallDone& done) {
  return entry("call-ended", {{"id", done.id},
                              {"outcome", to_string(done.outcome)},
                              {"prompt", done.usage.prompt_tokens},
                              {"cached", done.usage.cached_tokens},
                              {"completion", done.usage.completion_tokens},
                              {"reasoning", done.usage.reasoning_tokens},
                              {"estimated", done.usage.estimated},
                              {"dollars", done.dollars},
                              {"sent_us", microseconds(done.sent)},
                              {"ended_us", microseconds(done.ended)}});
}

EntryText to_entry(const CandidateFound& found) {
  Object body{{"id", found.id.value},
              {"iteration", found.iteration.value},
              {"origin", to_string(found.origin)},
              {"source", found.source.sha256},
              {"at_us", microseconds(found.at)}};
  if (found.parent.value) body["parent"] = found.parent.value;
  if (!found.trigger.empty()) body["trigger"] = found.trigger;
  if (found.prefix_tokens) body["prefix"] = found.prefix_tokens;
  if (found.shadow) body["shadow"] = true;
  return entry("candidate", std::move(body));
}

EntryText to_entry(const CandidateJudged& judged) {
  Object body{{"id", judged.id.value}, {"at_us", microseconds(judged.at)}};
  if (judged.withdrawn) {
    body["withdrawn"] = true;
    return entry("judged", std::move(body));
  }
  body["verdict"] = to_string(judged.verdict);
  if (judged.profiled) {
    body["speedup"] = to_json(judged.speedup);
    body["peak"] = finite_or_null(judged.peak_fraction);
  }
  if (judged.repeated) body["repeated"] = true;
  if (!judged.evidence.empty()) body["evidence"] = judged.evidence;
  if (!judged.evaluation.sha256.empty()) body["evaluation"] = judged.evaluation.sha256;
  if (!judged.tunables.empty()) body["tunables"] = tunables_json(judged.tunables);
  if (!judged.spans.empty()) body["spans"] = spans_json(judged.spans);
  return entry("judged", std::move(body));
}

EntryText to_entry(const CandidateTuned& tuned) {
  return entry("tuned", {{"id", tuned.id.value},
                         {"speedup", to_json(tuned.speedup)},
                         {"peak", finite_or_null(tuned.peak_fraction)},
                         {"tunables", tunables_json(tuned.tunables)},
                         {"source", tuned.source.sha256},
                         {"evaluation", tuned.evaluation.sha256},
                         {"spans", spans_json(tuned.spans)},
                         {"at_us", microseconds(tuned.at)}});
}

EntryText to_entry(const ShadowEnded& shadow) {
  return entry("shadow", {{"iteration", shadow.iteration.value},
                          {"saved_tokens", shadow.saved_tokens},
                          {"saved_us", microseconds(shadow.saved)},
                          {"whole", shadow.whole}});
}

EntryText resumed_entry(Duration at) {
  return entry("resumed", {{"at_us", microseconds(at)}});
}

EntryText run_ended_entry(std::string_view why) {
  return entry("run-ended", {{"why", why}});
}

}  // namespace specgen
