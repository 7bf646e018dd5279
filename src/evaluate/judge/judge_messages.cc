#include "evaluate/judge/judge_messages.h"

#include <fmt/core.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cstring>

#include "evaluate/candidate/directives.h"
#include "evaluate/cpu/shared_file.h"

namespace specgen {

Json to_json(const JudgeSetup& setup) {
  boost::json::object json{{"device", setup.device},
                           {"compiler", setup.compiler},
                           {"python", setup.python},
                           {"ncu", setup.ncu},
                           {"require", static_cast<int>(setup.require)},
                           {"sandbox_at_most", static_cast<int>(setup.sandbox_at_most)},
                           {"allow_unsandboxed", setup.allow_unsandboxed},
                           {"counters", setup.counters},
                           {"call_limit_ns", setup.call_limit.count()},
                           {"lock_wait_ns", setup.lock_wait.count()}};
  if (setup.secret) json["secret"] = *setup.secret;
  json["include_folders"] =
      boost::json::array(setup.include_folders.begin(), setup.include_folders.end());
  json["keep_off"] = boost::json::array(setup.keep_off.begin(), setup.keep_off.end());
  return json;
}

Result<JudgeSetup> judge_setup_from_json(const Json& json) {
  JudgeSetup setup{.device = text_at(json, "device"),
                   .compiler = text_at(json, "compiler"),
                   .python = text_at(json, "python"),
                   .ncu = text_at(json, "ncu"),
                   .require = static_cast<SandboxLevel>(
                       std::clamp<std::int64_t>(int_at(json, "require", 1), 0, 3)),
                   .sandbox_at_most = static_cast<SandboxLevel>(
                       std::clamp<std::int64_t>(int_at(json, "sandbox_at_most", 3), 0, 3)),
                   .allow_unsandboxed = flag_at(json, "allow_unsandboxed"),
                   .counters = flag_at(json, "counters"),
                   .secret = std::nullopt};
  setup.call_limit = Duration(int_at(json, "call_limit_ns", setup.call_limit.count()));
  setup.lock_wait = Duration(int_at(json, "lock_wait_ns", setup.lock_wait.count()));
  if (std::string secret = text_at(json, "secret"); !secret.empty()) setup.secret = secret;
  if (const Json* folders = member_at(json, "include_folders"); folders && folders->is_array()) {
    for (const Json& folder : folders->get_array()) {
      if (folder.is_string()) setup.include_folders.emplace_back(folder.get_string());
    }
  }
  if (const Json* cores = member_at(json, "keep_off"); cores && cores->is_array()) {
    for (const Json& core : cores->get_array()) {
      if (core.is_int64()) setup.keep_off.push_back(static_cast<int>(core.get_int64()));
    }
  }
  if (setup.device.empty()) return fail(ErrorCode::bad_message, "the judge's setup has no device");
  return setup;
}

Json to_json(const Program& program) {
  boost::json::object lowered;
  for (const auto& [name, mangled] : program.lowered_names) lowered[name] = mangled;
  return {{"source", program.source},
          {"tunables", to_json(program.tunables)},
          {"lowered_names", std::move(lowered)},
          {"remarks", program.remarks}};
}

Result<SharedFile> shared_binary(const Program& program) {
  SharedFile file = TRY(SharedFile::make("program", program.binary.size()));
  std::memcpy(file.bytes().data(), program.binary.data(), program.binary.size());
  TRY(file.seal());
  return file;
}

Result<Program> program_at(const Json& job, const std::vector<Fd>& descriptors) {
  const Json* json = member_at(job, "program");
  if (!json || descriptors.size() != 1) {
    return fail(ErrorCode::bad_message, "the job needs a program and the descriptor of its binary");
  }
  Program program{.source = text_at(*json, "source"),
                  .directives = {},
                  .tunables = values_at(*json, "tunables"),
                  .binary = {},
                  .lowered_names = {},
                  .remarks = text_at(*json, "remarks")};
  auto directives = parse_directives(program.source);
  if (!directives) return fail(ErrorCode::bad_message, directives.error().reason);
  program.directives = std::move(*directives);
  if (const Json* lowered = member_at(*json, "lowered_names"); lowered && lowered->is_object()) {
    for (const auto& [name, mangled] : lowered->get_object()) {
      if (mangled.is_string()) {
        program.lowered_names[std::string(name)] = std::string(mangled.get_string());
      }
    }
  }
  program.binary = TRY(read_file(fmt::format("/proc/self/fd/{}", descriptors[0].get()), MiB(64)));
  return program;
}

Json to_json(const Error& error) {
  return {
      {"code", static_cast<int>(error.code)}, {"context", error.context}, {"advice", error.advice}};
}

Error error_from_json(const Json& json) {
  const std::int64_t number = int_at(json, "code");
  auto kind = std::ranges::find(error_table(), number,
                                [](const ErrorKind& each) { return static_cast<int>(each.code); });
  return {kind == error_table().end() ? ErrorCode::harness_failed : kind->code,
          text_at(json, "context"), text_at(json, "advice")};
}

Json to_json(const Finding& finding) {
  return {{"verdict", to_string(finding.verdict)}, {"evidence", to_json(finding.evidence)}};
}

Json to_json(const Values& values) {
  boost::json::object json;
  for (const auto& [name, value] : values) json[name] = value;
  return json;
}

Json to_json(const Breakdown& breakdown) {
  boost::json::object json;
  for (const auto& [what, time] : breakdown) json[what] = 1e3 * seconds(time);
  return json;
}

Values values_at(const Json& json, std::string_view key) {
  Values values;
  if (const Json* object = member_at(json, key); object && object->is_object()) {
    for (const auto& [name, value] : object->get_object()) {
      if (value.is_int64()) values[std::string(name)] = value.get_int64();
    }
  }
  return values;
}

Speedup speedup_at(const Json& json, std::string_view key) {
  const Json* speedup = member_at(json, key);
  if (!speedup) return {};
  return {number_at(*speedup, "median"), number_at(*speedup, "low"), number_at(*speedup, "high")};
}

}  // namespace specgen
