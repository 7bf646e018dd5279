#include "evaluate/cuda/executor_protocol.h"

#include <fmt/core.h>

#include <boost/json.hpp>
#include <cmath>

#include "base/json.h"

namespace specgen {
namespace {

namespace json = boost::json;

constexpr std::size_t kMaxItems = 1 << 16;  // of any list

std::unexpected<Error> bad(std::string what) {
  return fail(ErrorCode::bad_message, std::move(what));
}

std::string_view name_of(Who who) {
  return who == Who::baseline ? "baseline" : "candidate";
}

Result<Who> who_at(const Json& value) {
  std::string name = text_at(value, "who");
  if (name == "baseline") return Who::baseline;
  if (name == "candidate") return Who::candidate;
  return bad("who is neither baseline nor candidate");
}

Result<std::uint64_t> size_at(const Json& value, std::string_view key) {
  std::int64_t number = int_at(value, key, -1);
  if (number < 0) return bad(fmt::format("{} is not a size", key));
  return static_cast<std::uint64_t>(number);
}

Result<const json::array*> list_at(const Json& value, std::string_view key) {
  const Json* member = member_at(value, key);
  if (!member || !member->is_array()) return bad(fmt::format("{} is not a list", key));
  if (member->get_array().size() > kMaxItems) return bad(fmt::format("{} is too long", key));
  return &member->get_array();
}

Result<std::vector<std::string>> texts_at(const Json& value, std::string_view key) {
  std::vector<std::string> texts;
  for (const Json& item : *TRY(list_at(value, key))) {
    if (!item.is_string()) return bad(fmt::format("{} has an item that is not text", key));
    texts.emplace_back(item.get_string());
  }
  return texts;
}

json::array json_of(const std::vector<std::vector<Place>>& sets) {
  json::array all;
  for (const auto& places : sets) {
    json::array one;
    for (const Place& place : places) {
      one.push_back(json::array{place.piece, place.offset, place.bytes});
    }
    all.push_back(std::move(one));
  }
  return all;
}

Result<std::uint64_t> natural(const Json& value) {
  if (value.is_int64() && value.get_int64() >= 0) {
    return static_cast<std::uint64_t>(value.get_int64());
  }
  if (value.is_uint64()) return value.get_uint64();
  return bad("a value is not a size");
}

Result<std::vector<std::vector<Place>>> places_at(const Json& value, std::string_view key) {
  std::vector<std::vector<Place>> sets;
  for (const Json& set : *TRY(list_at(value, key))) {
    if (!set.is_array()) return bad(fmt::format("{} has a set that is not a list", key));
    std::vector<Place> places;
    for (const Json& item : set.get_array()) {
      if (!item.is_array() || item.get_array().size() != 3)
        return bad("a place must be three numbers");
      const json::array& numbers = item.get_array();
      places.push_back({.piece = TRY(natural(numbers[0])),
                        .offset = TRY(natural(numbers[1])),
                        .bytes = TRY(natural(numbers[2]))});
    }
    sets.push_back(std::move(places));
  }
  return sets;
}

json::array json_of(const std::vector<std::string>& texts) {
  return json::array(texts.begin(), texts.end());
}

json::object json_of(const LoadRequest&) {
  return {{"do", "load"}};
}
json::object json_of(const ClearRequest& request) {
  return {{"do", "clear"}, {"keep", json::array(request.keep.begin(), request.keep.end())}};
}
json::object json_of(const CanaryRequest& request) {
  return {{"do", "canary"}, {"numbers", request.numbers}};
}
json::object json_of(const RunRequest& request) {
  return {{"do", "run"}, {"who", name_of(request.who)}, {"set", request.set}};
}
json::object json_of(const TimeRequest& request) {
  return {{"do", "time"},
          {"who", name_of(request.who)},
          {"sets", json::array(request.sets.begin(), request.sets.end())},
          {"flush_bytes", request.flush_bytes}};
}
json::object json_of(const DescribeRequest& request) {
  return {{"do", "describe"},
          {"who", name_of(request.who)},
          {"plan", request.plan},
          {"functions", json_of(request.functions)}};
}
json::object json_of(const ImportRequest& request) {
  json::array pieces;
  for (const auto& piece : request.pieces) {
    pieces.push_back({{"bytes", piece.bytes}, {"writable", piece.writable}});
  }
  return {{"do", "import"}, {"pieces", std::move(pieces)}};
}
json::object json_of(const LayOutRequest& request) {
  json::array programs;
  for (const auto& program : request.programs) {
    if (!program) {
      programs.push_back(nullptr);
      continue;
    }
    programs.push_back({{"plan", program->plan},
                        {"functions", json_of(program->functions)},
                        {"scratch", json_of(program->scratch)}});
  }
  return {
      {"do", "lay_out"}, {"tensors", json_of(request.tensors)}, {"programs", std::move(programs)}};
}

Result<ImportRequest> parse_import(const Json& value) {
  ImportRequest request;
  for (const Json& item : *TRY(list_at(value, "pieces"))) {
    request.pieces.push_back(
        {.bytes = TRY(size_at(item, "bytes")), .writable = flag_at(item, "writable")});
  }
  if (request.pieces.size() > kImportsAtOnce) return bad("too many pieces at once");
  return request;
}

Result<LayOutRequest> parse_lay_out(const Json& value) {
  LayOutRequest request{.tensors = TRY(places_at(value, "tensors")), .programs = {}};
  const json::array& programs = *TRY(list_at(value, "programs"));
  if (programs.size() != kPrograms) return bad("there must be two programs");
  for (std::size_t i = 0; i < kPrograms; ++i) {
    if (programs[i].is_null()) {
      if (i != static_cast<std::size_t>(Who::baseline)) return bad("there is no candidate");
      continue;  // it runs elsewhere
    }
    request.programs[i] = {.plan = text_at(programs[i], "plan"),
                           .functions = TRY(texts_at(programs[i], "functions")),
                           .scratch = TRY(places_at(programs[i], "scratch"))};
    if (request.programs[i]->scratch.size() != request.tensors.size()) {
      return bad("scratch is not given for every set");
    }
  }
  return request;
}

Result<std::vector<std::size_t>> naturals_at(const Json& value, std::string_view key) {
  std::vector<std::size_t> numbers;
  for (const Json& item : *TRY(list_at(value, key))) numbers.push_back(TRY(natural(item)));
  return numbers;
}

json::object json_of(const DriverFault& fault) {
  return {{"code", fault.code},
          {"name", fault.name},
          {"message", fault.message},
          {"doing", fault.doing}};
}

int small_at(const Json& value, std::string_view key, int otherwise = 0) {
  std::int64_t number = int_at(value, key, otherwise);
  return number < -1 || number > 1'000'000'000 ? otherwise : static_cast<int>(number);
}

}  // namespace

std::string encode(const ExecutorRequest& request) {
  return std::visit([](const auto& one) { return compact_json(json_of(one)); }, request);
}

Result<ExecutorRequest> parse_executor_request(std::string_view text) {
  Json value = TRY(parse_json(text));
  std::string what = text_at(value, "do");
  if (what == "load") return LoadRequest{};
  if (what == "clear") return ClearRequest{.keep = TRY(naturals_at(value, "keep"))};
  if (what == "import") return TRY(parse_import(value));
  if (what == "lay_out") return TRY(parse_lay_out(value));
  if (what == "time") {
    return TimeRequest{.who = TRY(who_at(value)),
                       .sets = TRY(naturals_at(value, "sets")),
                       .flush_bytes = TRY(size_at(value, "flush_bytes"))};
  }
  if (what == "run")
    return RunRequest{.who = TRY(who_at(value)), .set = TRY(size_at(value, "set"))};
  if (what == "canary") {
    std::uint64_t numbers = TRY(size_at(value, "numbers"));
    if (numbers > 1 << 20) return bad("too many numbers");
    return CanaryRequest{.numbers = static_cast<unsigned>(numbers)};
  }
  if (what == "describe") {
    return DescribeRequest{.who = TRY(who_at(value)),
                           .plan = text_at(value, "plan"),
                           .functions = TRY(texts_at(value, "functions"))};
  }
  return bad("unknown request '" + what + "'");
}

std::string DriverFault::text() const {
  return fmt::format("{}: {} ({}): {}", doing, name, code, message);
}

std::string ExecutorAnswer::problem() const {
  if (ok) return {};
  if (!rejected.empty()) return rejected;
  if (fault.code != 0) return fault.text();
  return broken.empty() ? "no reason given" : broken;
}

std::string encode(const ExecutorAnswer& answer) {
  json::array ns;
  for (double sample : answer.ns) ns.push_back(finite_or_null(sample));
  json::array kernels;
  for (const KernelDescription& kernel : answer.kernels) {
    kernels.push_back({{"function", kernel.function},
                       {"registers", kernel.registers},
                       {"static_shared_bytes", kernel.static_shared_bytes},
                       {"local_bytes", kernel.local_bytes},
                       {"most_threads", kernel.max_threads},
                       {"blocks_per_multiprocessor", kernel.blocks_per_multiprocessor}});
  }
  return compact_json(json::object{{"ok", answer.ok},
                                   {"rejected", answer.rejected},
                                   {"launch", answer.launch},
                                   {"who", name_of(answer.who)},
                                   {"fault", json_of(answer.fault)},
                                   {"broken", answer.broken},
                                   {"wall_ns", finite_or_null(answer.wall_ns)},
                                   {"ns", std::move(ns)},
                                   {"kernels", std::move(kernels)},
                                   {"sum", std::to_string(answer.sum)}});
}

Result<ExecutorAnswer> parse_executor_answer(std::string_view text) {
  Json value = TRY(parse_json(text));
  if (!value.is_object()) return bad("an answer must be an object");
  ExecutorAnswer answer{.ok = flag_at(value, "ok"),
                        .rejected = text_at(value, "rejected"),
                        .launch = small_at(value, "launch", -1),
                        .who = TRY(who_at(value)),
                        .broken = text_at(value, "broken"),
                        .wall_ns = number_at(value, "wall_ns", -1)};
  if (const Json* fault = member_at(value, "fault")) {
    answer.fault = {.code = small_at(*fault, "code"),
                    .name = text_at(*fault, "name"),
                    .message = text_at(*fault, "message"),
                    .doing = text_at(*fault, "doing")};
  }
  for (const Json& sample : *TRY(list_at(value, "ns"))) {
    if (!sample.is_number()) return bad("a time is not a number");
    double ns = sample.to_number<double>();
    if (!std::isfinite(ns) || ns < 0) return bad("a negative or infinite time");
    answer.ns.push_back(ns);
  }
  for (const Json& kernel : *TRY(list_at(value, "kernels"))) {
    answer.kernels.push_back(
        {.function = text_at(kernel, "function"),
         .registers = small_at(kernel, "registers"),
         .static_shared_bytes = small_at(kernel, "static_shared_bytes"),
         .local_bytes = small_at(kernel, "local_bytes"),
         .max_threads = small_at(kernel, "most_threads"),
         .blocks_per_multiprocessor = small_at(kernel, "blocks_per_multiprocessor")});
  }
  // As text: a sum has 64 bits, a JSON number 53.
  std::string sum = text_at(value, "sum");
  for (char digit : sum) {
    if (digit < '0' || digit > '9' || sum.size() > 20) return bad("the sum is not a number");
    answer.sum = answer.sum * 10 + static_cast<std::uint64_t>(digit - '0');
  }
  return answer;
}

}  // namespace specgen
