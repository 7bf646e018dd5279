#include "schedule/host_answer.h"

#include <fmt/core.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>

namespace specgen {
namespace {

constexpr std::size_t kMaxDevices = 100'000;  // a simulated host has many
constexpr std::int64_t kMaxCompileSlots = 100'000;

std::unexpected<Error> nonsense(std::string_view what) {
  return fail(ErrorCode::bad_message, std::string(what));
}

const Json* present(const boost::json::object& object, std::string_view key) {
  const Json* value = object.if_contains(key);
  return value && !value->is_null() ? value : nullptr;
}

// Members that may be missing or null, but not of another type.
Result<std::string> text_in(const boost::json::object& object, std::string_view key) {
  const Json* value = present(object, key);
  if (!value) return std::string();
  if (!value->is_string()) return nonsense(fmt::format("'{}' is no text", key));
  return std::string(value->get_string());
}

Result<double> number_in(const Json& value) {
  if (value.is_double()) return value.get_double();
  if (value.is_int64()) return static_cast<double>(value.get_int64());
  if (value.is_uint64()) return static_cast<double>(value.get_uint64());
  return nonsense("a number is none");
}

// Where infinity and NaN are written as null.
Result<double> any_number_in(const boost::json::object& object, std::string_view key) {
  const Json* value = present(object, key);
  return value ? number_in(*value) : std::nan("");
}

Result<WorstElement> worst_in(const Json& json) {
  if (!json.is_object()) return nonsense("'worst' is no object");
  const auto& object = json.get_object();
  WorstElement worst{.tensor = TRY(text_in(object, "tensor")),
                     .index = {},
                     .expected = TRY(any_number_in(object, "expected")),
                     .got = TRY(any_number_in(object, "got"))};
  const Json* index = present(object, "index");
  if (!index || !index->is_array()) return nonsense("'index' is no list");
  for (const Json& each : index->get_array()) {
    if (!each.is_int64()) return nonsense("an index is no whole number");
    worst.index.push_back(each.get_int64());
  }
  return worst;
}

Result<Evidence> evidence_in(const boost::json::object& finding) {
  const Json* json = present(finding, "evidence");
  if (!json || !json->is_object()) return nonsense("a finding without evidence");
  const auto& object = json->get_object();
  Evidence evidence{.text = TRY(text_in(object, "text")),
                    .case_name = TRY(text_in(object, "case"))};
  if (const Json* line = present(object, "line")) {
    if (!line->is_int64() || line->get_int64() < 0 || line->get_int64() > 100'000'000) {
      return nonsense("'line' is no line");
    }
    evidence.line = static_cast<int>(line->get_int64());
  }
  if (const Json* worst = present(object, "worst")) {
    evidence.worst.push_back(TRY(worst_in(*worst)));
  }
  return evidence;
}

Result<Finding> finding_in(const boost::json::object& object) {
  const Json* verdict = present(object, "verdict");
  if (!verdict || !verdict->is_string()) return nonsense("a finding without a verdict");
  auto known = parse_verdict(verdict->get_string());
  if (!known) return nonsense(known.error().context);
  return Finding{.verdict = *known, .evidence = TRY(evidence_in(object))};
}

Result<Speedup> speedup_in(const boost::json::object& object, std::string_view key) {
  const Json* json = present(object, key);
  if (!json || !json->is_object()) return nonsense(fmt::format("ok without a '{}'", key));
  const auto& interval = json->get_object();
  Speedup speedup{.median = TRY(any_number_in(interval, "median")),
                  .low = TRY(any_number_in(interval, "low")),
                  .high = TRY(any_number_in(interval, "high"))};
  auto possible = [](double ratio) { return std::isfinite(ratio) && ratio > 0; };
  if (!possible(speedup.median) || !possible(speedup.low) || !possible(speedup.high) ||
      speedup.low > speedup.high) {
    return nonsense(
        fmt::format("a '{}' of {} ({} to {})", key, speedup.median, speedup.low, speedup.high));
  }
  return speedup;
}

Result<Values> tunables_in(const boost::json::object& object) {
  Values values;
  const Json* json = present(object, "tunables");
  if (!json) return values;
  if (!json->is_object()) return nonsense("'tunables' is no object");
  for (const auto& [name, value] : json->get_object()) {
    if (!value.is_int64()) return nonsense("a tunable is no whole number");
    values[std::string(name)] = value.get_int64();
  }
  return values;
}

std::string_view speedup_of(Stage stage) {
  return stage == Stage::validate || stage == Stage::tune ? "screen" : "speedup";
}

bool makes_program(Stage stage) {
  return stage == Stage::compile || stage == Stage::tune;
}

}  // namespace

Result<HostFacts> facts_in(const Json& hello) {
  if (!hello.is_object() || text_at(hello, "event") != "hello") {
    return nonsense("the host does not greet");
  }
  if (int_at(hello, "protocol") != 1) {
    return fail(ErrorCode::bad_message, "the host speaks another protocol",
                "install the same version of specgen on both hosts");
  }
  const std::int64_t compile_slots = int_at(hello, "lanes");
  const Json* devices = member_at(hello, "devices");
  if (compile_slots < 1 || compile_slots > kMaxCompileSlots)
    return nonsense("the number of compile_slots is none");
  if (!devices || !devices->is_array() || devices->get_array().size() > kMaxDevices) {
    return nonsense("the host's devices are no list");
  }
  HostFacts facts{.devices = {},
                  .compile_slots = static_cast<std::size_t>(compile_slots),
                  .version = TRY(text_in(hello.get_object(), "specgen_version")),
                  .shares_memory = flag_at(hello, "lends")};
  std::vector<std::string> ids;
  for (const Json& device : devices->get_array()) {
    facts.devices.push_back({.id = text_at(device, "id"), .name = text_at(device, "name")});
    if (facts.devices.back().id.empty()) return nonsense("a device without a name");
    ids.push_back(facts.devices.back().id);
  }
  std::ranges::sort(ids);
  if (std::ranges::adjacent_find(ids) != ids.end()) return nonsense("two devices of one name");
  return facts;
}

Result<StageOutcome> outcome_in(Stage stage, Json result) {
  if (!result.is_object()) return nonsense("a result that is no object");
  auto& object = result.get_object();
  StageOutcome outcome{.verdict = Verdict::ok};  // what is tuned has been judged already
  if (stage == Stage::evaluate) {
    Finding finding = TRY(finding_in(object));
    outcome.verdict = finding.verdict;
    outcome.evidence = std::move(finding.evidence);
  } else if (stage != Stage::tune) {
    const Json* finding = present(object, "finding");
    if (!finding || !finding->is_object()) return nonsense("a result without a finding");
    Finding found = TRY(finding_in(finding->get_object()));
    outcome.verdict = found.verdict;
    outcome.evidence = std::move(found.evidence);
  }
  if (outcome.verdict == Verdict::ok && stage != Stage::compile) {
    outcome.speedup = TRY(speedup_in(object, speedup_of(stage)));
  }
  if (outcome.verdict == Verdict::ok && makes_program(stage)) {
    outcome.program = TRY(text_in(object, "program"));
    if (outcome.program.empty()) return nonsense("ok without a program");
  }
  if (stage == Stage::tune) outcome.tunables = TRY(tunables_in(object));
  outcome.feedback = TRY(text_in(object, "feedback"));
  object.erase("feedback");
  if (stage == Stage::evaluate) {
    outcome.evaluation = compact_json(result);
    return outcome;
  }
  if (const Json* evaluation = present(object, "evaluation")) {
    if (!evaluation->is_object()) return nonsense("'evaluation' is no object");
    outcome.evaluation = compact_json(*evaluation);
    object.erase("evaluation");
  }
  outcome.result = compact_json(result);
  return outcome;
}

Result<Error> error_in(const Json& answer) {
  const Json* json = member_at(answer, "error");
  if (!json || !json->is_object()) return nonsense("an error that is none");
  const std::int64_t code = int_at(*json, "code");
  auto kind = std::ranges::find(error_table(), code,
                                [](const ErrorKind& each) { return static_cast<int>(each.code); });
  if (kind == error_table().end()) return nonsense(fmt::format("there is no error {}", code));
  return Error{kind->code, TRY(text_in(json->get_object(), "context")),
               TRY(text_in(json->get_object(), "advice"))};
}

}  // namespace specgen
