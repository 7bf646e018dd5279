// A launch plan between judge and executor. The reader trusts nothing: it accepts only what has the form of a plan, and
// the executor checks buffers against its own.

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>
#include <limits>
#include <optional>

#include "evaluate/candidate/launch_plan.h"

namespace specgen {
namespace {

namespace bj = boost::json;
using Kind = PlannedArgument::Kind;

constexpr std::int64_t kMaxUnsigned = std::numeric_limits<unsigned>::max();
constexpr std::int64_t kMaxWhole = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMaxBuffers = 1024;
constexpr std::size_t kMaxItems = 64;
constexpr std::size_t kMaxName = 4096;

// JSON has no infinity.
Json real_to_json(double value) {
  if (std::isfinite(value)) return value;
  return bj::string(std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
}
std::optional<double> real_from_json(const Json& json) {
  if (json.is_double()) return json.get_double();
  if (json.is_int64()) return static_cast<double>(json.get_int64());
  if (!json.is_string()) return std::nullopt;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (json.get_string() == "inf") return kInfinity;
  if (json.get_string() == "-inf") return -kInfinity;
  if (json.get_string() == "nan") return std::numeric_limits<double>::quiet_NaN();
  return std::nullopt;
}

template <class Range>
bj::array list(const Range& range) {
  bj::array array;
  for (auto item : range) array.push_back(static_cast<std::int64_t>(item));
  return array;
}

Json argument_to_json(const PlannedArgument& argument) {
  auto buffer = static_cast<std::int64_t>(argument.buffer);
  switch (argument.kind) {
    case Kind::pointer:
      return bj::object{{"pointer", buffer}, {"offset", argument.integer}};
    case Kind::integer:
      return bj::object{{"integer", argument.integer}};
    case Kind::real:
      return bj::object{{"real", real_to_json(argument.real)}};
    case Kind::tensormap:
      return bj::object{{"tensormap", buffer}};
  }
  return nullptr;
}

std::unexpected<Error> bad(std::string_view what) {
  return fail(ErrorCode::bad_message, fmt::format("launch plan: {}", what));
}

Result<std::int64_t> whole(const Json* json, std::string_view what, std::int64_t low,
                           std::int64_t high) {
  if (!json || !json->is_int64()) return bad(fmt::format("{} is not an integer", what));
  std::int64_t value = json->get_int64();
  if (value < low || value > high) return bad(fmt::format("{} is {}", what, value));
  return value;
}

Result<const bj::array*> array_at(const Json& object, std::string_view key,
                                  std::size_t most = kMaxItems) {
  const Json* member = member_at(object, key);
  if (!member || !member->is_array()) return bad(fmt::format("{} is no list", key));
  if (member->get_array().size() > most) return bad(fmt::format("{} is too long", key));
  return &member->get_array();
}

template <class T>
Result<std::vector<T>> integers(const Json& object, std::string_view key, std::int64_t low,
                                std::int64_t high) {
  std::vector<T> values;
  for (const Json& item : *TRY(array_at(object, key))) {
    values.push_back(static_cast<T>(TRY(whole(&item, key, low, high))));
  }
  return values;
}

Result<std::array<unsigned, 3>> three(const Json& object, std::string_view key, std::int64_t low) {
  auto values = TRY(integers<unsigned>(object, key, low, kMaxUnsigned));
  if (values.size() != 3) return bad(fmt::format("{} does not have three dimensions", key));
  return std::array<unsigned, 3>{values[0], values[1], values[2]};
}

Result<PlannedArgument> argument_from_json(const Json& json, std::size_t tensormaps) {
  if (!json.is_object()) return bad("an argument is not an object");
  PlannedArgument argument;
  if (const Json* pointer = member_at(json, "pointer")) {
    argument.kind = Kind::pointer;
    argument.buffer = static_cast<std::size_t>(TRY(whole(pointer, "pointer", 0, kMaxBuffers)));
    argument.integer = TRY(whole(member_at(json, "offset"), "offset", 0, kMaxWhole));
  } else if (const Json* integer = member_at(json, "integer")) {
    argument.integer =
        TRY(whole(integer, "integer", std::numeric_limits<std::int64_t>::min(), kMaxWhole));
  } else if (const Json* real = member_at(json, "real")) {
    auto value = real_from_json(*real);
    if (!value) return bad("real is not a number");
    argument.kind = Kind::real;
    argument.real = *value;
  } else {
    argument.kind = Kind::tensormap;
    argument.buffer = static_cast<std::size_t>(TRY(whole(
        member_at(json, "tensormap"), "tensormap", 0, static_cast<std::int64_t>(tensormaps) - 1)));
  }
  return argument;
}

Result<PlannedTensormap> tensormap_from_json(const Json& json) {
  PlannedTensormap map;
  map.buffer =
      static_cast<std::size_t>(TRY(whole(member_at(json, "buffer"), "buffer", 0, kMaxBuffers)));
  auto dtype = parse_dtype(text_at(json, "dtype"));
  if (!dtype) return bad("the dtype is unknown");
  map.dtype = *dtype;
  map.dimensions = TRY(integers<std::uint64_t>(json, "dimensions", 1, std::int64_t{1} << 32));
  map.box = TRY(integers<std::uint32_t>(json, "box", 1, 256));
  if (map.dimensions.empty() || map.dimensions.size() > 5 ||
      map.box.size() != map.dimensions.size()) {
    return bad("a tensormap has as many sides as its tensor, one to five");
  }
  map.swizzle = static_cast<int>(TRY(whole(member_at(json, "swizzle"), "swizzle", 0, 128)));
  if (map.swizzle != 0 && map.swizzle != 32 && map.swizzle != 64 && map.swizzle != 128) {
    return bad(fmt::format("swizzle is {}", map.swizzle));
  }
  return map;
}

Result<PlannedLaunch> launch_from_json(const Json& json, std::size_t tensormaps) {
  PlannedLaunch launch;
  launch.name_expression = text_at(json, "kernel");
  if (launch.name_expression.empty() || launch.name_expression.size() > kMaxName ||
      launch.name_expression.contains('\0')) {
    return bad("kernel is not a name");
  }
  launch.grid = TRY(three(json, "grid", 1));
  launch.block = TRY(three(json, "block", 1));
  launch.cluster = TRY(three(json, "cluster", 0));
  bool none = launch.cluster == std::array<unsigned, 3>{0, 0, 0};
  if (!none && std::ranges::find(launch.cluster, 0U) != launch.cluster.end())
    return bad("cluster is empty");
  launch.shared_bytes = static_cast<unsigned>(
      TRY(whole(member_at(json, "shared_bytes"), "shared_bytes", 0, kMaxUnsigned)));
  const Json* cooperative = member_at(json, "cooperative");
  if (!cooperative || !cooperative->is_bool()) return bad("cooperative is neither true nor false");
  launch.cooperative = cooperative->get_bool();
  for (const Json& argument : *TRY(array_at(json, "arguments"))) {
    launch.arguments.push_back(TRY(argument_from_json(argument, tensormaps)));
  }
  return launch;
}

}  // namespace

Json to_json(const LaunchPlan& plan) {
  bj::array tensormaps;
  for (const PlannedTensormap& map : plan.tensormaps) {
    tensormaps.push_back(bj::object{{"buffer", static_cast<std::int64_t>(map.buffer)},
                                    {"dtype", std::string(to_string(map.dtype))},
                                    {"dimensions", list(map.dimensions)},
                                    {"box", list(map.box)},
                                    {"swizzle", map.swizzle}});
  }
  bj::array launches;
  for (const PlannedLaunch& launch : plan.launches) {
    bj::array arguments;
    for (const PlannedArgument& argument : launch.arguments) {
      arguments.push_back(argument_to_json(argument));
    }
    launches.push_back(bj::object{{"kernel", launch.name_expression},
                                  {"grid", list(launch.grid)},
                                  {"block", list(launch.block)},
                                  {"cluster", list(launch.cluster)},
                                  {"shared_bytes", static_cast<std::int64_t>(launch.shared_bytes)},
                                  {"cooperative", launch.cooperative},
                                  {"arguments", std::move(arguments)}});
  }
  return bj::object{{"scratch_bytes", list(plan.scratch_bytes)},
                    {"zeroed_buffers", list(plan.zeroed_buffers)},
                    {"tensormaps", std::move(tensormaps)},
                    {"launches", std::move(launches)}};
}

Result<LaunchPlan> launch_plan_from_json(const Json& json) {
  if (!json.is_object()) return bad("it is not an object");
  LaunchPlan plan;
  plan.scratch_bytes = TRY(integers<std::size_t>(json, "scratch_bytes", 1, kMaxWhole));
  plan.zeroed_buffers = TRY(integers<std::size_t>(json, "zeroed_buffers", 0, kMaxBuffers));
  for (const Json& map : *TRY(array_at(json, "tensormaps"))) {
    plan.tensormaps.push_back(TRY(tensormap_from_json(map)));
  }
  for (const Json& launch : *TRY(array_at(json, "launches"))) {
    plan.launches.push_back(TRY(launch_from_json(launch, plan.tensormaps.size())));
  }
  if (plan.launches.empty()) return bad("there is no launch in it");
  return plan;
}

}  // namespace specgen
