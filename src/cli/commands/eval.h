#pragma once
// One candidate, judged here and now, for `specgen eval` and `specgen verify`.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "base/units.h"
#include "cli/settings.h"
#include "evaluate/host/sandbox_features.h"

namespace specgen {

struct EvaluationRequest {
  std::string task = {};
  std::string candidate = {};  // its file or name, for the verdict
  std::string device = "cpu:0";
  std::map<std::string, std::int64_t> tunables = {};
  std::map<std::string, std::int64_t> shapes = {};  // of a PyTorch task
  bool model_new = false;                           // the candidate is a Python module
  bool counters = false;                            // hardware counters, which take seconds
  SandboxLevel require_sandbox = SandboxLevel::lsm;
  SandboxLevel sandbox_at_most = SandboxLevel::full;
  bool allow_unsandboxed = false;
  std::optional<std::string> secret = {};  // 32 hex digits, to repeat an evaluation
  std::vector<std::string> include_folders = {};
  Duration call_limit = std::chrono::seconds(10);
  Duration time_limit = std::chrono::minutes(10);
};

// The schema specgen.evaluation without its two schema keys.
Result<Json> judge_source(const EvaluationRequest& request, std::string source,
                          const Settings& settings);

// For people: the verdict first, then its evidence.
std::string evaluation_text(const Json& evaluation, bool colour);

}  // namespace specgen
