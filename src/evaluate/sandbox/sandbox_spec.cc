#include "evaluate/sandbox/sandbox_spec.h"

#include <linux/filter.h>
#include <sodium.h>

#include <boost/json.hpp>

#include "base/json.h"

namespace specgen {
namespace {

boost::json::array texts(const std::vector<std::string>& strings) {
  return boost::json::array(strings.begin(), strings.end());
}

std::vector<std::string> texts_at(const Json& object, std::string_view key) {
  std::vector<std::string> strings;
  const Json* member = member_at(object, key);
  if (!member || !member->is_array()) return strings;
  for (const Json& each : member->get_array()) {
    if (each.is_string()) strings.emplace_back(each.get_string());
  }
  return strings;
}

Bytes bytes_at(const Json& object, std::string_view key) {
  return {static_cast<std::uint64_t>(int_at(object, key))};
}

std::string to_hex(const FilterProgram& filter) {
  std::string hex(2 * filter.size() + 1, '\0');
  ::sodium_bin2hex(hex.data(), hex.size(), reinterpret_cast<const unsigned char*>(filter.data()),
                   filter.size());
  hex.pop_back();
  return hex;
}

// Empty unless it is hex digits for a number of instructions.
FilterProgram filter_from_hex(std::string_view hex) {
  FilterProgram filter(hex.size() / 2, '\0');
  std::size_t size = 0;
  int result = ::sodium_hex2bin(reinterpret_cast<unsigned char*>(filter.data()), filter.size(),
                                hex.data(), hex.size(), nullptr, &size, nullptr);
  bool ok = result == 0 && 2 * size == hex.size() && size % sizeof(sock_filter) == 0;
  return ok ? filter : FilterProgram();
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
      {"filter", to_hex(spec.filter)},
  });
}

Result<SandboxSpec> parse_sandbox_spec(std::string_view text) {
  Json json = TRY(parse_json(text));
  std::int64_t level = int_at(json, "level", -1);
  SandboxSpec spec;
  spec.filter = filter_from_hex(text_at(json, "filter"));
  // Nothing runs with a part missing.
  bool complete = level >= static_cast<int>(SandboxLevel::lsm) &&
                  level <= static_cast<int>(SandboxLevel::full) &&
                  bytes_at(json, "memory").count > 0 && int_at(json, "processes") > 0 &&
                  int_at(json, "cpu_ns") > 0 && bytes_at(json, "file_size").count > 0 &&
                  bytes_at(json, "tmp_size").count > 0 && int_at(json, "uid", -1) >= 0 &&
                  !spec.filter.empty();
  if (!complete) {
    return fail(ErrorCode::bad_message, "a sandbox without a level, a limit or a filter");
  }
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
