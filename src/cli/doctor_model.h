#pragma once
// `specgen doctor --model SPEC`: what a model's server can do, found by trying (generate/openai/probe.h),
// as text for a person or JSON for a program. Exit code 0 if it can be used, else 3.

#include <string>

#include "base/error.h"
#include "cli/command_line.h"
#include "cli/settings.h"
#include "generate/openai/probe.h"

namespace specgen {

struct ModelDiagnosis {
  std::string spec;
  std::string profile;  // empty: it plays in this process, and there is no server to be tried
  std::string url;
  ProbeReport report;
  CallLedger::Totals cost;

  bool in_process() const { return profile.empty(); }
  bool usable() const { return in_process() || report.usable(); }
};

std::string model_doctor_text(const ModelDiagnosis& diagnosis, bool colour);

// Schema specgen.model-check, version 1.
std::string model_doctor_json(const ModelDiagnosis& diagnosis);

Result<ExitCode> probe_model(const ProbeModel& command, const Settings& settings);

}  // namespace specgen
