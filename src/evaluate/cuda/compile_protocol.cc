#include "evaluate/cuda/compile_protocol.h"

#include <boost/json.hpp>
#include <charconv>

#include "base/json.h"
#include "base/text.h"

namespace specgen {
namespace {

namespace json = boost::json;

json::object object_of(const std::map<std::string, std::string>& map) {
  json::object object;
  for (const auto& [key, value] : map) object[key] = value;
  return object;
}

json::array array_of(const std::vector<std::string>& texts) {
  return json::array(texts.begin(), texts.end());
}

Result<std::vector<std::string>> texts_at(const Json& value, std::string_view key) {
  const Json* member = member_at(value, key);
  if (!member || !member->is_array()) {
    return fail(ErrorCode::bad_message, std::string(key) + " is no list");
  }
  std::vector<std::string> texts;
  for (const Json& item : member->get_array()) {
    if (!item.is_string()) return fail(ErrorCode::bad_message, std::string(key) + ": no text");
    texts.emplace_back(item.get_string());
  }
  return texts;
}

Result<std::map<std::string, std::string>> map_at(const Json& value, std::string_view key) {
  const Json* member = member_at(value, key);
  if (!member || !member->is_object()) {
    return fail(ErrorCode::bad_message, std::string(key) + " is no object");
  }
  std::map<std::string, std::string> map;
  for (const auto& [name, item] : member->get_object()) {
    if (!item.is_string()) return fail(ErrorCode::bad_message, std::string(key) + ": no text");
    map.emplace(std::string(name), std::string(item.get_string()));
  }
  return map;
}

bool may_stand_in_a_path(char c) {
  return is_letter(c) || (c >= '0' && c <= '9') || std::string_view("._-+/").contains(c);
}

// "/usr/local/cuda/include/cuda_fp16.hpp(12)" -> "cuda_fp16.hpp(12)".
std::string without_folders(std::string_view line) {
  std::string kept;
  for (std::size_t at = 0; at < line.size();) {
    bool begins_a_path = line[at] == '/' && (at == 0 || !may_stand_in_a_path(line[at - 1])) &&
                         at + 1 < line.size() && (is_letter(line[at + 1]) || line[at + 1] == '.');
    if (!begins_a_path) {
      kept += line[at++];
      continue;
    }
    std::size_t end = at;
    while (end < line.size() && may_stand_in_a_path(line[end])) ++end;
    std::string_view path = line.substr(at, end - at);
    kept += path.substr(path.rfind('/') + 1);
    at = end;
  }
  return kept;
}

}  // namespace

std::string encode(const CompileRequest& request) {
  return compact_json(json::object{{"source", request.source},
                                   {"architecture", request.architecture},
                                   {"defines", object_of(request.defines)},
                                   {"name_expressions", array_of(request.name_expressions)},
                                   {"include_folders", array_of(request.include_folders)}});
}

Result<CompileRequest> parse_compile_request(std::string_view text) {
  Json value = TRY(parse_json(text));
  CompileRequest request{.source = text_at(value, "source"),
                         .architecture = text_at(value, "architecture")};
  if (request.architecture.empty()) return fail(ErrorCode::bad_message, "no architecture");
  request.defines = TRY(map_at(value, "defines"));
  request.name_expressions = TRY(texts_at(value, "name_expressions"));
  request.include_folders = TRY(texts_at(value, "include_folders"));
  return request;
}

std::string encode(const CompileAnswer& answer) {
  return compact_json(json::object{
      {"ok", answer.ok}, {"log", answer.log}, {"lowered_names", object_of(answer.lowered_names)}});
}

Result<CompileAnswer> parse_compile_answer(std::string_view text) {
  Json value = TRY(parse_json(text));
  if (!value.is_object()) return fail(ErrorCode::bad_message, "an answer is an object");
  return CompileAnswer{.ok = flag_at(value, "ok"),
                       .log = text_at(value, "log"),
                       .lowered_names = TRY(map_at(value, "lowered_names"))};
}

std::string strip_compile_log(std::string_view log, std::size_t max_lines) {
  constexpr std::size_t kMaxColumns = 400;  // a template error can be a page long
  std::string kept;
  std::size_t lines = 0;
  std::size_t left_out = 0;
  for (std::string_view line : split(log, '\n')) {
    while (!line.empty() && is_space(line.back())) line.remove_suffix(1);
    if (line.empty()) continue;
    if (++lines > max_lines) {
      ++left_out;
      continue;
    }
    std::string clean = without_folders(line);
    if (clean.size() > kMaxColumns) clean = clean.substr(0, kMaxColumns) + " ...";
    kept += clean + "\n";
  }
  if (left_out > 0) kept += "(" + std::to_string(left_out) + " more lines)\n";
  return kept;
}

int first_cuda_error_line(std::string_view log) {
  std::string begin = std::string(kCandidateFile) + "(";
  for (std::string_view line : split(log, '\n')) {
    line = trim(line);
    if (!line.starts_with(begin)) continue;
    line.remove_prefix(begin.size());
    int number = 0;
    auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number);
    if (error != std::errc() || number <= 0) continue;
    std::string_view rest = line.substr(static_cast<std::size_t>(end - line.data()));
    if (rest.starts_with("): error") || rest.starts_with("): catastrophic error")) return number;
  }
  return 0;
}

}  // namespace specgen
