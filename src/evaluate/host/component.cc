#include "evaluate/host/component.h"

#include <boost/json.hpp>

namespace specgen {
Json to_json(const Component& component) {
  return boost::json::object{{"name", component.name},       {"found", component.found},
                             {"works", component.works},     {"path", component.path},
                             {"version", component.version}, {"problem", component.problem}};
}

Component component_from_json(const Json& value) {
  return {.name = text_at(value, "name"),
          .found = flag_at(value, "found"),
          .works = flag_at(value, "works"),
          .path = text_at(value, "path"),
          .version = text_at(value, "version"),
          .problem = text_at(value, "problem")};
}

}  // namespace specgen
