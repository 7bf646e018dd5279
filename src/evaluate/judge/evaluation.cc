#include "evaluate/judge/evaluation.h"

#include <fmt/core.h>

#include <boost/json.hpp>

namespace specgen {
namespace {

double milliseconds(Duration duration) {
  return 1e3 * seconds(duration);
}

Json parsed(const std::string& text) {
  auto json = parse_json(text);
  return json ? std::move(*json) : Json(nullptr);
}

Duration duration_at(const Json& timings, std::string_view key) {
  return from_seconds(1e-3 * number_at(timings, key));
}

Speedup speedup_at(const Json& json) {
  const Json* speedup = member_at(json, "speedup");
  if (!speedup) return {};
  return {number_at(*speedup, "median"), number_at(*speedup, "low"), number_at(*speedup, "high")};
}

// Without a status the case was run: it was written before cases had one.
CaseStatus status_at(const Json& json) {
  const std::string status = text_at(json, "status");
  if (status == to_string(CaseStatus::not_run)) return CaseStatus::not_run;
  return status == to_string(CaseStatus::failed) ? CaseStatus::failed : CaseStatus::passed;
}

CaseResult case_from_json(const Json& json) {
  return {.name = text_at(json, "name"),
          .hidden = flag_at(json, "hidden"),
          .timed = flag_at(json, "timed"),
          .status = status_at(json),
          .rms_error_ratio = number_at(json, "rms_error_ratio", -1),
          .weight = number_at(json, "weight"),
          .baseline_seconds = 1e-6 * number_at(json, "baseline_us"),
          .candidate_seconds = 1e-6 * number_at(json, "candidate_us"),
          .disturbed = number_at(json, "disturbed"),
          .speedup = speedup_at(json),
          .peak_fraction = number_at(json, "peak_fraction"),
          .limit = text_at(json, "limit")};
}

template <class T>
Json or_null(const std::optional<T>& value) {
  if (!value) return nullptr;
  if constexpr (std::is_same_v<T, double>) {
    return finite_or_null(*value);
  } else {
    return to_json(*value);
  }
}

}  // namespace

std::string_view to_string(CaseStatus status) {
  switch (status) {
    case CaseStatus::not_run:
      return "not run";
    case CaseStatus::passed:
      return "passed";
    case CaseStatus::failed:
      return "failed";
  }
  return "";
}

Json to_json(const CaseResult& result) {
  boost::json::object json{
      {"name", result.name}, {"hidden", result.hidden}, {"timed", result.timed}};
  json["status"] = to_string(result.status);
  json["rms_error_ratio"] =
      result.rms_error_ratio < 0 ? Json(nullptr) : finite_or_null(result.rms_error_ratio);
  json["weight"] = result.weight;
  bool has_time = result.candidate_seconds > 0;
  auto when_timed = [&](double number) {
    return has_time ? finite_or_null(number) : Json(nullptr);
  };
  json["baseline_us"] = when_timed(1e6 * result.baseline_seconds);
  json["candidate_us"] = when_timed(1e6 * result.candidate_seconds);
  json["disturbed"] = when_timed(result.disturbed);
  json["speedup"] = has_time ? to_json(result.speedup) : Json(nullptr);
  json["peak_fraction"] = when_timed(result.peak_fraction);
  json["limit"] = result.limit.empty() ? Json(nullptr) : Json(result.limit);
  return json;
}

Json to_json(const Evaluation& evaluation) {
  boost::json::object json{{"task", evaluation.task},
                           {"device", evaluation.device},
                           {"device_name", evaluation.device_name},
                           {"verdict", to_string(evaluation.verdict)},
                           {"evidence", to_json(evaluation.evidence)},
                           {"speedup", or_null(evaluation.speedup)},
                           {"vendor_ratio", or_null(evaluation.vendor_ratio)},
                           {"peak_fraction", or_null(evaluation.peak_fraction)}};
  boost::json::array cases;
  for (const CaseResult& result : evaluation.cases) cases.push_back(to_json(result));
  json["cases"] = std::move(cases);
  boost::json::object tunables;
  for (const auto& [name, value] : evaluation.tunables) tunables[name] = value;
  json["tunables"] = std::move(tunables);
  json["profile"] = parsed(evaluation.profile);
  json["sandbox"] = evaluation.sandbox;
  json["trust"] = evaluation.trust;
  json["marks"] = boost::json::array(evaluation.marks.begin(), evaluation.marks.end());
  json["timings_ms"] = {{"compile", milliseconds(evaluation.timings.compile)},
                        {"validate", milliseconds(evaluation.timings.validate)},
                        {"profile", milliseconds(evaluation.timings.profile)},
                        {"measure", milliseconds(evaluation.timings.measure)},
                        {"total", milliseconds(evaluation.timings.total)}};
  return json;
}

Evaluation evaluation_from_json(const Json& json) {
  Evaluation evaluation{.task = text_at(json, "task"),
                        .device = text_at(json, "device"),
                        .device_name = text_at(json, "device_name"),
                        .sandbox = text_at(json, "sandbox"),
                        .trust = text_at(json, "trust")};
  if (const Json* cases = member_at(json, "cases"); cases && cases->is_array()) {
    for (const Json& each : cases->get_array()) evaluation.cases.push_back(case_from_json(each));
  }
  if (const Json* tunables = member_at(json, "tunables"); tunables && tunables->is_object()) {
    for (const auto& [name, value] : tunables->get_object()) {
      if (value.is_int64()) evaluation.tunables[std::string(name)] = value.get_int64();
    }
  }
  if (const Json* marks = member_at(json, "marks"); marks && marks->is_array()) {
    for (const Json& mark : marks->get_array()) {
      if (mark.is_string()) evaluation.marks.emplace_back(mark.get_string());
    }
  }
  if (const Json* timings = member_at(json, "timings_ms")) {
    evaluation.timings = {.compile = duration_at(*timings, "compile"),
                          .measure = duration_at(*timings, "measure"),
                          .validate = duration_at(*timings, "validate"),
                          .profile = duration_at(*timings, "profile"),
                          .total = duration_at(*timings, "total")};
  }
  return evaluation;
}

std::string feedback_text(const Evaluation& evaluation) {
  if (evaluation.verdict == Verdict::ok && !evaluation.speedup) {
    return "correct; its speed is not confirmed yet";
  }
  if (evaluation.verdict == Verdict::ok) {
    return fmt::format("correct, {:.3g} times as fast as the baseline ({:.3g} to {:.3g}). {}",
                       evaluation.speedup->median, evaluation.speedup->low,
                       evaluation.speedup->high, text_at(parsed(evaluation.profile), "text"));
  }
  std::string text = fmt::format("{}: {}", to_string(evaluation.verdict), evaluation.evidence.text);
  if (!evaluation.evidence.case_name.empty()) text += " [" + evaluation.evidence.case_name + "]";
  if (evaluation.evidence.line > 0) text += fmt::format(" (line {})", evaluation.evidence.line);
  return text;
}

}  // namespace specgen
