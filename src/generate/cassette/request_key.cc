#include "generate/cassette/request_key.h"

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <cmath>
#include <map>

#include "base/json.h"

namespace specgen {
namespace {

// Members that identify or route a request and do not affect its answer.
constexpr std::array<std::string_view, 15> kVolatile{
    "user",         "user_id",  "rid",        "request_id",       "session_id",
    "metadata",     "priority", "cache_salt", "prompt_cache_key", "safety_identifier",
    "service_tier", "store",    "extra_key",  "id_slot",          "cache_prompt"};

Json normalised(const Json& value, bool at_top) {
  if (const auto* object = value.if_object()) {
    std::map<std::string_view, const Json*> sorted;
    for (const auto& member : *object) sorted[member.key()] = &member.value();
    boost::json::object out;
    for (const auto& [key, member] : sorted) {
      if (at_top && std::ranges::find(kVolatile, key) != kVolatile.end()) continue;
      out[key] = normalised(*member, false);
    }
    return out;
  }
  if (const auto* array = value.if_array()) {
    boost::json::array out;
    for (const Json& item : *array) out.push_back(normalised(item, false));
    return out;
  }
  constexpr double kIntegerBelow = 1e15;  // 1 and 1.0 are the same number
  if (const double* number = value.if_double();
      number && std::trunc(*number) == *number && std::abs(*number) < kIntegerBelow) {
    return static_cast<std::int64_t>(*number);
  }
  return value;
}

}  // namespace

std::string request_key(const RecordedRequest& request) {
  auto body = parse_json(request.body);
  return request.method + " " + request.target + "\n" +
         (body ? compact_json(normalised(*body, true)) : request.body);
}

std::vector<std::string> differing_members(const RecordedRequest& a, const RecordedRequest& b) {
  auto one = parse_json(a.body);
  auto two = parse_json(b.body);
  std::vector<std::string> names;
  if (!one || !two || !one->is_object() || !two->is_object()) return names;
  Json left = normalised(*one, true);
  Json right = normalised(*two, true);
  for (const auto& [key, value] : left.get_object()) {
    const Json* other = member_at(right, key);
    if (!other || *other != value) names.emplace_back(key);
  }
  for (const auto& [key, value] : right.get_object()) {
    if (!member_at(left, key)) names.emplace_back(key);
  }
  return names;
}

}  // namespace specgen
