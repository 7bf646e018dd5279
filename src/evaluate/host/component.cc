#include "evaluate/host/component.h"

#include <boost/json.hpp>

namespace specgen {
namespace {

std::string text_of(const boost::json::object& object, std::string_view key) {
  const Json* value = object.if_contains(key);
  return value && value->is_string() ? std::string(value->get_string()) : std::string();
}

bool flag_of(const boost::json::object& object, std::string_view key) {
  const Json* value = object.if_contains(key);
  return value && value->is_bool() && value->get_bool();
}

}  // namespace

Json to_json(const Component& component) {
  return boost::json::object{{"name", component.name},       {"found", component.found},
                             {"works", component.works},     {"path", component.path},
                             {"version", component.version}, {"problem", component.problem}};
}

Component component_from_json(const Json& value) {
  const auto* object = value.if_object();
  if (!object) return {};
  return {.name = text_of(*object, "name"),
          .found = flag_of(*object, "found"),
          .works = flag_of(*object, "works"),
          .path = text_of(*object, "path"),
          .version = text_of(*object, "version"),
          .problem = text_of(*object, "problem")};
}

}  // namespace specgen
