#pragma once
// `specgen doctor --model SPEC`: what a model's server can do, found by trying (generate/openai/probe.h), as text for
// people or JSON for programs.

#include <string>

#include "base/error.h"
#include "cli/settings.h"
#include "generate/call_ledger.h"
#include "generate/openai/probe.h"

namespace specgen {

struct ModelDiagnosis {
  std::string spec;
  std::string profile;  // empty: it runs in this process, and there is no server to probe
  std::string url;
  ProbeReport report;
  CallLedger::Totals cost;

  bool in_process() const { return profile.empty(); }
  bool usable() const { return in_process() || report.usable(); }
};

// Costs a few thousand tokens. `limit` is for each call.
Result<ModelDiagnosis> inspect_model(const std::string& spec, const Settings& settings,
                                     Duration limit);

std::string model_check_text(const ModelDiagnosis& diagnosis, bool colour);

// Schema specgen.model-check, version 1.
std::string model_check_json(const ModelDiagnosis& diagnosis);

}  // namespace specgen
