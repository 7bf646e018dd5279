#pragma once
// What a judge process and its client say to each other: JSON on a socket, with a descriptor for every binary.
// judge_process.h is the client's side, judge_service.cc the judge's.
//
//   client to judge:  JudgeSetup, then requests        {"id": 1, "do": "validate", "job": {...}}
//   judge to client:  any number of                    {"id": 1, "event": "progress", "text": "..."}
//                     then one of                      {"id": 1, "event": "done", "result": {...}}
//                                                      {"id": 1, "event": "error", "error": {...}}

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/units.h"
#include "evaluate/host/sandbox_features.h"
#include "evaluate/judge/breakdown.h"
#include "evaluate/judge/test_rig.h"
#include "evaluate/verdict.h"

namespace specgen {

class SharedFile;  // cpu/shared_file.h

// How a judge works; the first message that it receives.
struct JudgeSetup {
  std::string device;  // "cpu:0", "cuda:0"; a compile slot has a backend only: "cpu", "cuda"
  std::string compiler = "g++";
  std::string python = "python3";
  std::string ncu = "ncu";
  SandboxLevel require = SandboxLevel::lsm;
  SandboxLevel sandbox_at_most = SandboxLevel::full;  // tests simulate hosts with fewer features
  bool allow_unsandboxed = false;
  bool counters = false;                   // profile with ncu, which takes seconds
  std::optional<std::string> secret = {};  // 32 hex digits; drawn by the judge if not given
  Duration call_limit = std::chrono::seconds(10);
  Duration lock_wait = std::chrono::minutes(2);
  std::vector<std::string> include_folders = {};  // CUDA candidates may include from these
  std::vector<int> keep_off = {};  // cores on which other devices of the host are timed

  // A compile slot compiles and holds no device.
  bool is_compile_slot() const { return device.find(':') == std::string::npos; }
};
Json to_json(const JudgeSetup& setup);
Result<JudgeSetup> judge_setup_from_json(const Json& json);

// A compiled program: its binary travels as a descriptor, the rest as JSON. Directives are parsed from the
// source again.
Json to_json(const Program& program);
Result<SharedFile> shared_binary(const Program& program);
// `descriptors`: of the request with this job; there is exactly one.
Result<Program> program_at(const Json& job, const std::vector<Fd>& descriptors);

Json to_json(const Error& error);
Error error_from_json(const Json& json);

Json to_json(const Finding& finding);
Json to_json(const Values& values);
Json to_json(const Breakdown& breakdown);  // milliseconds
Values values_at(const Json& json, std::string_view key);
Speedup speedup_at(const Json& json, std::string_view key);

}  // namespace specgen
