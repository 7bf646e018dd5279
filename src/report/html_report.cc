#include "report/html_report.h"

#include <fmt/format.h>

#include <boost/json.hpp>

#include "base/text.h"
#include "base/text_diff.h"
#include "report/no_result.h"
#include "report/page_text.h"
#include "report/pictures.h"
#include "report/speculation_ledger.h"
#include "report/summary.h"

namespace specgen {

// Generated from page/.
std::string_view embedded_report_page();
std::string_view embedded_report_style();
std::string_view embedded_report_script();

namespace {

using Object = boost::json::object;
using Array = boost::json::array;

// A larger source is shown in part; the run's folder has all of it.
constexpr std::size_t kMaxSource = 256 << 10;

// HTML is not unescaped inside <script>: without '<' the text cannot end the element.
std::string inside_script(const Json& json) {
  std::string text;
  for (char c : compact_json(json)) {
    if (c == '<') {
      text += "\\u003c";
    } else {
      text += c;
    }
  }
  return text;
}

std::string shown_source(const std::string& source) {
  if (source.size() <= kMaxSource) return source;
  return source.substr(0, kMaxSource) + "\n... (cut here)\n";
}

Json diff_of(const std::string& before, const std::string& after) {
  Array runs;
  for (const DiffRun& run : diff_lines(before, after)) {
    const char* kind = run.kind == DiffRun::Kind::same      ? " "
                       : run.kind == DiffRun::Kind::removed ? "-"
                                                            : "+";
    runs.push_back(Array{kind, run.lines});
  }
  return runs;
}

std::string stages_text(const std::vector<StageSpan>& spans) {
  std::vector<std::string> stages;
  for (const StageSpan& span : spans) {
    stages.push_back(fmt::format("{} on {} in {}", to_string(span.stage), span.device,
                                 format_duration(span.ended - span.started)));
  }
  return join(stages, ", ");
}

class Page {
 public:
  explicit Page(const RunData& run) : run_(run), ledger_(speculation_ledger(run.state)) {}

  std::string text() {
    std::string title = title_text();
    Json data = document();
    return fill_template(embedded_report_page(),
                         {{"title", xml_escaped(title)},
                          {"style", std::string(embedded_report_style())},
                          {"script", std::string(embedded_report_script())},
                          {"pictures", pictures_for_page(timeline_of(run_.state))},
                          {"data", inside_script(data)}});
  }

 private:
  std::string title_text() const {
    std::vector<std::string> names;
    for (const RunTask& task : run_.state.run.tasks) names.push_back(task.name);
    if (names.size() > 3) {
      std::size_t more = names.size() - 3;
      names.resize(3);
      names.push_back(fmt::format("{} more", more));
    }
    return "specgen: " + join(names, ", ");
  }

  std::string lead_text() const {
    const RunBegun& begun = run_.state.run;
    return fmt::format("{} · workflow {} · model {} · criterion {} · speculation {} · seed {}",
                       run_.folder.filename().string(), begun.workflow, begun.model,
                       begun.criterion, begun.speculate ? "on" : "off", begun.seed);
  }

  Json document() {
    Json json = Object{};
    add_summary(json, run_, ledger_);
    Object& object = json.as_object();
    for (std::uint32_t i = 0; i < run_.state.tasks.size(); ++i) {
      Object& task = object["tasks"].as_array()[i].as_object();
      task["best_id"] = run_.state.tasks[i].best.value;
      if (auto missing = why_no_result(run_, i)) {
        task["no_result"] = {{"reason", missing->reason}, {"advice", missing->advice}};
      }
    }
    object["lead"] = lead_text();
    object["ledger"] = to_json(ledger_);
    auto manifest = parse_json(run_.manifest);
    object["manifest"] = manifest ? std::move(*manifest) : Json(nullptr);
    Array problems;
    for (const std::string& problem : run_.problems) problems.push_back(Json(problem));
    object["problems"] = std::move(problems);
    Array candidates;
    for (const auto& [id, candidate] : run_.state.candidates) {
      candidates.push_back(candidate_json(candidate));
    }
    object["candidates"] = std::move(candidates);
    object["sources"] = std::move(sources_);
    object["evaluations"] = std::move(evaluations_);
    return json;
  }

  Json candidate_json(const CandidateState& candidate) {
    const CandidateFound& found = candidate.found;
    const std::string& source = run_.source_of(candidate);
    if (!source.empty()) sources_[candidate.source().sha256] = shown_source(source);
    Object json{{"id", found.id.value},
                {"task", run_.state.iterations.at(found.iteration).begun.task},
                {"iteration", found.iteration.value},
                {"origin", to_string(found.origin)},
                {"trigger", found.trigger},
                {"prefix", found.prefix_tokens},
                {"parent", found.parent.value},
                {"shadow", found.shadow},
                {"found", seconds(found.at)},
                {"source", candidate.source().sha256},
                {"verdict", "not judged"},
                {"judged", nullptr},
                {"evidence", ""}};
    auto parent = run_.state.candidates.find(found.parent);
    if (parent != run_.state.candidates.end() && !source.empty()) {
      const std::string& before = run_.source_of(parent->second);
      if (!before.empty()) json["diff"] = diff_of(shown_source(before), shown_source(source));
    }
    if (candidate.judged) add_judged(json, candidate);
    return json;
  }

  void add_judged(Object& json, const CandidateState& candidate) {
    const CandidateJudged& judged = *candidate.judged;
    json["verdict"] = judged.withdrawn ? std::string_view("withdrawn") : to_string(judged.verdict);
    json["judged"] = seconds(judged.at);
    json["repeated"] = judged.repeated;
    json["evidence"] = judged.evidence;
    json["stages"] = stages_text(judged.spans);
    if (judged.profiled) {
      json["speedup"] = to_json(candidate.speedup());
      json["peak"] = finite_or_null(candidate.peak_fraction());
    }
    if (candidate.tuned) {
      json["tuned"] = {{"at", seconds(candidate.tuned->at)},
                       {"before", to_json(judged.speedup)},
                       {"stages", stages_text(candidate.tuned->spans)}};
    }
    const std::string& evaluation = run_.evaluation_of(candidate);
    if (evaluation.empty()) return;
    auto parsed = parse_json(evaluation);
    if (!parsed) return;
    json["evaluation"] = candidate.evaluation().sha256;
    evaluations_[candidate.evaluation().sha256] = std::move(*parsed);
  }

  const RunData& run_;
  SpeculationLedger ledger_;
  Object sources_;
  Object evaluations_;
};

}  // namespace

std::string html_report(const RunData& run) {
  return Page(run).text();
}

}  // namespace specgen
