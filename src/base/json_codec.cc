#include "base/json_codec.h"

namespace specgen::json_codec {
namespace {

std::string_view kind_of(const Json& json) {
  switch (json.kind()) {
    case boost::json::kind::null:
      return "null";
    case boost::json::kind::bool_:
      return "true or false";
    case boost::json::kind::int64:
    case boost::json::kind::uint64:
      return "an integer";
    case boost::json::kind::double_:
      return "a number";
    case boost::json::kind::string:
      return "a string";
    case boost::json::kind::array:
      return "an array";
    case boost::json::kind::object:
      return "an object";
  }
  return "unknown";
}

}  // namespace

std::unexpected<Error> wrong(std::string_view what) {
  return fail(ErrorCode::bad_json, ": " + std::string(what));
}

std::unexpected<Error> at(std::string_view place, Error error) {
  const bool continues = error.context.starts_with(':') || error.context.starts_with('[');
  error.context.insert(0, std::string(place) + (continues ? "" : "."));
  return std::unexpected(std::move(error));
}

std::unexpected<Error> without_separator(Error error) {
  if (error.context.starts_with(": ")) error.context.erase(0, 2);
  return std::unexpected(std::move(error));
}

std::unexpected<Error> wrong_type(std::string_view expected, const Json& found) {
  return wrong("expected " + std::string(expected) + ", found " + std::string(kind_of(found)));
}

Result<void> decode_number(const Json& json, double& value) {
  if (!json.is_number()) return wrong_type("a number", json);
  value = json.to_number<double>();
  return {};
}

Result<void> decode_text(const Json& json, std::string& value) {
  const auto* text = json.if_string();
  if (!text) return wrong_type("a string", json);
  value.assign(text->data(), text->size());
  return {};
}

}  // namespace specgen::json_codec
