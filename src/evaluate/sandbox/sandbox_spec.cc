#include "evaluate/sandbox/sandbox_spec.h"

#include <boost/json.hpp>

#include "base/json.h"

namespace specgen {
namespace {

boost::json::array texts(const std::vector<std::string>& words) {
  return boost::json::array(words.begin(), words.end());
}

std::vector<std::string> texts_at(const Json& object, std::string_view key) {
  std::vector<std::string> words;
  const Json* member = member_at(object, key);
  if (!member || !member->is_array()) return words;
  for (const Json& each : member->get_array()) {
    if (each.is_string()) words.emplace_back(each.get_string());
  }
  return words;
}

Bytes bytes_at(const Json& object, std::string_view key) {
  return {static_cast<std::uint64_t>(int_at(object, key))};
}

}  // namespace

std::string to_text(const SandboxSpec& spec) {
  return compact_json(boost::json::object{
      {"level", static_cast<int>(spec.level)},
      {"bubblewrap", spec.bubblewrap},
      {"user_namespace", spec.user_namespace},
      {"disable_user_namespaces", spec.disable_user_namespaces},
      {"join", texts(spec.join)},
      {"uid", spec.uid},
      {"memory", static_cast<std::int64_t>(spec.limits.memory.count)},
      {"processes", spec.limits.processes},
      {"cpu_ns", spec.limits.cpu_time.count()},
      {"file_size", static_cast<std::int64_t>(spec.limits.file_size.count)},
      {"tmp_size", static_cast<std::int64_t>(spec.limits.tmp_size.count)},
      {"limit_address_space", spec.limit_address_space},
      {"gpu", spec.gpu},
      {"own_program", spec.own_program},
      {"read_only", texts(spec.read_only)},
      {"environment", texts(spec.environment)},
      {"folder", spec.folder},
      {"private_tmp", spec.private_tmp},
  });
}

Result<SandboxSpec> parse_sandbox_spec(std::string_view text) {
  Json json = TRY(parse_json(text));
  std::int64_t level = int_at(json, "level", -1);
  // A limit that was lost on the way would be no limit.
  bool whole = level >= static_cast<int>(SandboxLevel::lsm) &&
               level <= static_cast<int>(SandboxLevel::full) &&
               bytes_at(json, "memory").count > 0 && int_at(json, "processes") > 0 &&
               int_at(json, "cpu_ns") > 0 && bytes_at(json, "file_size").count > 0 &&
               bytes_at(json, "tmp_size").count > 0 && int_at(json, "uid", -1) >= 0;
  if (!whole)
    return fail(ErrorCode::bad_message, "what a sandbox is to be lacks a level or a limit");
  SandboxSpec spec;
  spec.level = static_cast<SandboxLevel>(level);
  spec.bubblewrap = text_at(json, "bubblewrap");
  spec.user_namespace = flag_at(json, "user_namespace");
  spec.disable_user_namespaces = flag_at(json, "disable_user_namespaces");
  spec.join = texts_at(json, "join");
  spec.uid = static_cast<std::uint32_t>(int_at(json, "uid"));
  spec.limits = {.memory = bytes_at(json, "memory"),
                 .processes = static_cast<int>(int_at(json, "processes")),
                 .cpu_time = Duration(int_at(json, "cpu_ns")),
                 .file_size = bytes_at(json, "file_size"),
                 .tmp_size = bytes_at(json, "tmp_size")};
  spec.limit_address_space = flag_at(json, "limit_address_space");
  spec.gpu = flag_at(json, "gpu");
  spec.own_program = flag_at(json, "own_program");
  spec.read_only = texts_at(json, "read_only");
  spec.environment = texts_at(json, "environment");
  spec.folder = text_at(json, "folder");
  spec.private_tmp = text_at(json, "private_tmp");
  return spec;
}

}  // namespace specgen
