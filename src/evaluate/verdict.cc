#include "evaluate/verdict.h"

#include <algorithm>
#include <array>
#include <boost/json.hpp>

#include "base/text.h"

namespace specgen {
namespace {

constexpr std::array<std::string_view, 17> kNames{
    "ok",           "compile_error",   "rejected",      "crash",
    "timeout",      "out_of_memory",   "out_of_bounds", "input_modified",
    "unwritten",    "nonfinite",       "wrong",         "nondeterministic",
    "imprecise",    "unstable_timing", "suspect",       "deferred_work",
    "harness_error"};

}  // namespace

std::string_view to_string(Verdict verdict) {
  return kNames[static_cast<std::size_t>(verdict)];
}

Result<Verdict> parse_verdict(std::string_view name) {
  auto found = std::ranges::find(kNames, name);
  if (found != kNames.end()) return static_cast<Verdict>(found - kNames.begin());
  std::vector<std::string> names(kNames.begin(), kNames.end());
  return fail(ErrorCode::unknown_name,
              "verdict '" + std::string(name) + "'" + did_you_mean(name, names));
}

Json to_json(const Evidence& evidence) {
  boost::json::object json{{"text", evidence.text}};
  json["case"] = nullptr;
  if (!evidence.case_name.empty()) json["case"] = evidence.case_name;
  json["line"] = nullptr;
  if (evidence.line > 0) json["line"] = evidence.line;
  json["worst"] = nullptr;
  if (!evidence.worst.empty()) {
    const WorstElement& worst = evidence.worst.front();
    json["worst"] = {{"tensor", worst.tensor},
                     {"index", boost::json::array(worst.index.begin(), worst.index.end())},
                     {"expected", finite_or_null(worst.expected)},
                     {"got", finite_or_null(worst.got)}};
  }
  return json;
}

Json to_json(const Speedup& speedup) {
  return {{"median", speedup.median}, {"low", speedup.low}, {"high", speedup.high}};
}

}  // namespace specgen
