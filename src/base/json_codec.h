#pragma once
// JSON from one description of a struct, in both directions. Included from .cc files only: it is the one header that
// includes Boost.Describe and Boost.JSON. In the .cc of the type:
//
//   BOOST_DESCRIBE_STRUCT(Speedup, (), (median, low, high))
//   constexpr auto json_fields(const Speedup*) {             // only where the defaults below do not fit
//     return std::array{JsonField<Speedup>{.member = "median", .required = true}};
//   }
//   Json to_json(const Speedup& speedup) { return encode_members(speedup); }
//   Result<void> from_json(const Json& json, Speedup& speedup) { return decode_members(json, speedup); }
//
// A type whose header declares to_json() and from_json() may be a member of structs that are described elsewhere; so
// may an enum whose header declares to_string() and from_name().
//
// Reading: a member that is missing or null keeps its default, unless it is required. Keys without a member are
// ignored: a later version wrote them. A wrong type, a number out of range or an unknown enum name is an error
// (bad_json) that names the path: "spans[2].stage: unknown value 'x'".

#include <array>
#include <boost/describe.hpp>
#include <boost/json.hpp>
#include <boost/mp11.hpp>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/artifact_id.h"
#include "base/error.h"
#include "base/id.h"
#include "base/json.h"
#include "base/units.h"

namespace specgen {

enum class WhenEmpty : std::uint8_t { write, omit, null };

// How one member is written and read.
template <class T>
struct JsonField {
  std::string_view member;
  std::string_view key = {};                      // empty: the member's name
  std::array<std::string_view, 2> old_keys = {};  // still read
  bool required = false;                          // missing or null is an error
  WhenEmpty when_empty = WhenEmpty::write;        // 0, false, "", none
  bool (*is_known)(const T&) = nullptr;           // where it is false, the member counts as empty
  double scale =
      0;  // of a double, or of a Duration's seconds: the JSON number is that many times it
  bool is_json_text = false;  // a string that holds JSON
  bool is_inlined = false;    // a struct whose members are written among those of this one
  bool may_wrap = false;      // an unsigned number that was once written as a signed one
};

template <class T>
boost::json::object encode_members(const T& value, const boost::json::storage_ptr& storage = {});
template <class T>
Result<void> decode_members(const Json& json, T& value);

// The same as an array of the members in their order. Trailing members may be missing when it is read.
template <class T>
boost::json::array encode_row(const T& value, const boost::json::storage_ptr& storage = {});
template <class T>
Result<void> decode_row(const Json& json, T& value, std::size_t required);

namespace json_codec {

// On its way out an error collects the path in front of its ": what".
std::unexpected<Error> wrong(std::string_view what);
std::unexpected<Error> wrong_type(std::string_view expected, const Json& found);
std::unexpected<Error> at(std::string_view place, Error error);
std::unexpected<Error> without_separator(Error error);  // of an error without a path

template <class T>
concept Described = boost::describe::has_describe_members<T>::value;
template <class T>
concept HasHooks = requires(const T& value, T& target, const Json& json) {
  { to_json(value) } -> std::convertible_to<Json>;
  { from_json(json, target) } -> std::same_as<Result<void>>;
};
template <class T>
concept NamedEnum = std::is_enum_v<T> && requires(T value, T& target, std::string_view name) {
  { to_string(value) } -> std::convertible_to<std::string_view>;
  { from_name(name, target) } -> std::same_as<bool>;
};

template <class T>
inline constexpr bool is_id = false;
template <class Tag>
inline constexpr bool is_id<Id<Tag>> = true;
template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;
template <class T>
inline constexpr bool is_vector = false;
template <class T>
inline constexpr bool is_vector<std::vector<T>> = true;
template <class T>
inline constexpr bool is_map = false;
template <class K, class V>
inline constexpr bool is_map<std::map<K, V>> = true;

template <class T>
using Members = boost::describe::describe_members<T, boost::describe::mod_public>;

template <class T>
constexpr JsonField<T> field_of(std::string_view member) {
  JsonField<T> found{.member = member};
  if constexpr (requires { json_fields(static_cast<const T*>(nullptr)); }) {
    for (const JsonField<T>& field : json_fields(static_cast<const T*>(nullptr))) {
      if (field.member == member) found = field;
    }
  }
  if (found.key.empty()) found.key = member;
  return found;
}

// Every field that is given a rule is a member.
template <class T>
constexpr bool fields_are_members() {
  bool all = true;
  if constexpr (requires { json_fields(static_cast<const T*>(nullptr)); }) {
    for (const JsonField<T>& field : json_fields(static_cast<const T*>(nullptr))) {
      bool found = false;
      boost::mp11::mp_for_each<Members<T>>(
          [&](auto member) { found |= field.member == member.name; });
      all &= found;
    }
  }
  return all;
}

template <class T>
bool is_empty(const T& value) {
  if constexpr (is_optional<T>) {
    return !value.has_value();
  } else if constexpr (is_id<T>) {
    return value.value == 0;
  } else if constexpr (std::is_same_v<T, ArtifactId>) {
    return value.sha256.empty();
  } else if constexpr (std::is_same_v<T, Duration>) {
    return value == Duration::zero();
  } else if constexpr (std::is_arithmetic_v<T>) {
    return value == T{};
  } else if constexpr (requires { value.empty(); }) {
    return value.empty();
  } else {
    return false;
  }
}

inline std::int64_t microseconds(Duration duration) {
  return std::chrono::duration_cast<std::chrono::microseconds>(duration).count();
}

template <class T>
Json encode_value(const T& value, const boost::json::storage_ptr& storage) {
  if constexpr (std::is_same_v<T, bool>) {
    return Json(value, storage);
  } else if constexpr (std::is_floating_point_v<T>) {
    return std::isfinite(value) ? Json(value, storage) : Json(nullptr, storage);
  } else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
    return Json(std::int64_t{value}, storage);
  } else if constexpr (std::is_integral_v<T>) {
    return Json(std::uint64_t{value}, storage);
  } else if constexpr (std::is_same_v<T, std::string>) {
    return Json(std::string_view(value), storage);
  } else if constexpr (std::is_same_v<T, Duration>) {
    return Json(microseconds(value), storage);
  } else if constexpr (std::is_same_v<T, Time>) {
    return Json(microseconds(value.time_since_epoch()), storage);
  } else if constexpr (is_id<T>) {
    return Json(value.value, storage);
  } else if constexpr (std::is_same_v<T, ArtifactId>) {
    return Json(std::string_view(value.sha256), storage);
  } else if constexpr (is_optional<T>) {
    return value ? encode_value(*value, storage) : Json(nullptr, storage);
  } else if constexpr (is_vector<T>) {
    boost::json::array array(storage);
    array.reserve(value.size());
    for (const auto& each : value) array.push_back(encode_value(each, storage));
    return array;
  } else if constexpr (is_map<T>) {
    boost::json::object object(storage);
    for (const auto& [key, each] : value) {
      if constexpr (NamedEnum<typename T::key_type>) {
        object.emplace(to_string(key), encode_value(each, storage));
      } else {
        object.emplace(key, encode_value(each, storage));
      }
    }
    return object;
  } else if constexpr (NamedEnum<T>) {
    return Json(std::string_view(to_string(value)), storage);
  } else if constexpr (HasHooks<T>) {
    return Json(to_json(value), storage);
  } else {
    static_assert(Described<T>, "the type has neither a description nor to_json() and from_json()");
    return encode_members(value, storage);
  }
}

template <class T>
Result<void> decode_integer(const Json& json, T& value, bool may_wrap) {
  if (const std::int64_t* number = json.if_int64()) {
    if (std::in_range<T>(*number) || may_wrap) {
      value = static_cast<T>(*number);
      return {};
    }
  } else if (const std::uint64_t* large = json.if_uint64()) {
    if (std::in_range<T>(*large)) {
      value = static_cast<T>(*large);
      return {};
    }
  } else {
    return wrong_type("an integer", json);
  }
  return wrong("number " + compact_json(json) + " is out of range");
}

Result<void> decode_number(const Json& json, double& value);
Result<void> decode_text(const Json& json, std::string& value);

template <class T>
Result<void> decode_value(const Json& json, T& value);

template <class T>
Result<void> decode_vector(const Json& json, std::vector<T>& values) {
  const auto* array = json.if_array();
  if (!array) return wrong_type("an array", json);
  values.clear();
  values.reserve(array->size());
  for (const Json& each : *array) {
    auto decoded = decode_value(each, values.emplace_back());
    if (!decoded) {
      return at("[" + std::to_string(values.size() - 1) + "]", std::move(decoded.error()));
    }
  }
  return {};
}

template <class K, class V>
Result<void> decode_map(const Json& json, std::map<K, V>& values) {
  const auto* object = json.if_object();
  if (!object) return wrong_type("an object", json);
  values.clear();
  for (const auto& [name, each] : *object) {
    K key{};
    if constexpr (NamedEnum<K>) {
      if (!from_name(std::string_view(name), key)) {
        return wrong("unknown key '" + std::string(name) + "'");
      }
    } else {
      key = std::string(name);
    }
    auto decoded = decode_value(each, values[std::move(key)]);
    if (!decoded) return at(name, std::move(decoded.error()));
  }
  return {};
}

template <class T>
Result<void> decode_value(const Json& json, T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    if (!json.is_bool()) return wrong_type("true or false", json);
    value = json.get_bool();
    return {};
  } else if constexpr (std::is_same_v<T, double>) {
    return decode_number(json, value);
  } else if constexpr (std::is_integral_v<T>) {
    return decode_integer(json, value, false);
  } else if constexpr (std::is_same_v<T, std::string>) {
    return decode_text(json, value);
  } else if constexpr (std::is_same_v<T, Duration> || std::is_same_v<T, Time>) {
    std::int64_t count = 0;
    TRY(decode_integer(json, count, false));
    value = T(std::chrono::microseconds(count));
    return {};
  } else if constexpr (is_id<T>) {
    return decode_integer(json, value.value, false);
  } else if constexpr (std::is_same_v<T, ArtifactId>) {
    return decode_text(json, value.sha256);
  } else if constexpr (is_optional<T>) {
    if (json.is_null()) {
      value.reset();
      return {};
    }
    return decode_value(json, value.emplace());
  } else if constexpr (is_vector<T>) {
    return decode_vector(json, value);
  } else if constexpr (is_map<T>) {
    return decode_map(json, value);
  } else if constexpr (NamedEnum<T>) {
    const auto* name = json.if_string();
    if (!name) return wrong_type("a name", json);
    if (!from_name(std::string_view(*name), value)) {
      return wrong("unknown value '" + std::string(*name) + "'");
    }
    return {};
  } else if constexpr (HasHooks<T>) {
    return from_json(json, value);
  } else {
    static_assert(Described<T>, "the type has neither a description nor to_json() and from_json()");
    return decode_members(json, value);
  }
}

template <class Owner, class T>
Json encode_field(const JsonField<Owner>& field, const T& value,
                  const boost::json::storage_ptr& storage) {
  if constexpr (std::is_same_v<T, double>) {
    return encode_value(field.scale != 0 ? field.scale * value : value, storage);
  } else if constexpr (std::is_same_v<T, Duration>) {
    if (field.scale != 0) return encode_value(field.scale * seconds(value), storage);
    return encode_value(value, storage);
  } else if constexpr (std::is_same_v<T, std::string>) {
    if (!field.is_json_text) return encode_value(value, storage);
    auto parsed = parse_json(value);
    return parsed ? Json(std::move(*parsed), storage) : Json(nullptr, storage);
  } else {
    return encode_value(value, storage);
  }
}

template <class Owner, class T>
Result<void> decode_field(const JsonField<Owner>& field, const Json& json, T& value) {
  if constexpr (std::is_same_v<T, double>) {
    TRY(decode_number(json, value));
    if (field.scale != 0) value /= field.scale;
    return {};
  } else if constexpr (std::is_same_v<T, Duration>) {
    if (field.scale == 0) return decode_value(json, value);
    double number = 0;
    TRY(decode_number(json, number));
    value = from_seconds(number / field.scale);
    return {};
  } else if constexpr (std::is_same_v<T, std::string>) {
    if (!field.is_json_text) return decode_value(json, value);
    value = compact_json(json);
    return {};
  } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    return decode_integer(json, value, field.may_wrap);
  } else {
    return decode_value(json, value);
  }
}

template <class T>
const Json* find(const boost::json::object& object, const JsonField<T>& field) {
  const Json* found = object.if_contains(field.key);
  for (std::string_view old : field.old_keys) {
    if (!found && !old.empty()) found = object.if_contains(old);
  }
  return found && !found->is_null() ? found : nullptr;
}

template <class T>
void encode_into(const T& value, boost::json::object& object) {
  static_assert(fields_are_members<T>(), "json_fields() names what is no member");
  const boost::json::storage_ptr& storage = object.storage();
  boost::mp11::mp_for_each<Members<T>>([&](auto descriptor) {
    constexpr JsonField<T> field = field_of<T>(decltype(descriptor)::name);
    const auto& member = value.*descriptor.pointer;
    if constexpr (field.is_inlined) {
      encode_into(member, object);
    } else {
      const bool is_absent = (field.is_known && !field.is_known(value)) ||
                             (field.when_empty != WhenEmpty::write && is_empty(member));
      if (!is_absent) {
        object.emplace(field.key, encode_field(field, member, storage));
      } else if (field.when_empty != WhenEmpty::omit) {
        object.emplace(field.key, nullptr);
      }
    }
  });
}

template <class T>
Result<void> decode_from(const boost::json::object& object, T& value) {
  static_assert(fields_are_members<T>(), "json_fields() names what is no member");
  Result<void> result;
  boost::mp11::mp_for_each<Members<T>>([&](auto descriptor) {
    constexpr JsonField<T> field = field_of<T>(decltype(descriptor)::name);
    if (!result) return;
    if constexpr (field.is_inlined) {
      result = decode_from(object, value.*descriptor.pointer);
    } else if (const Json* json = find(object, field)) {
      auto decoded = decode_field(field, *json, value.*descriptor.pointer);
      if (!decoded) result = at(field.key, std::move(decoded.error()));
    } else if (field.required) {
      result = at(field.key, wrong("missing").error());
    }
  });
  return result;
}

}  // namespace json_codec

template <class T>
boost::json::object encode_members(const T& value, const boost::json::storage_ptr& storage) {
  boost::json::object object(storage);
  object.reserve(boost::mp11::mp_size<json_codec::Members<T>>::value);
  json_codec::encode_into(value, object);
  return object;
}

template <class T>
Result<void> decode_members(const Json& json, T& value) {
  const auto* object = json.if_object();
  if (!object) return json_codec::wrong_type("an object", json);
  return json_codec::decode_from(*object, value);
}

template <class T>
boost::json::array encode_row(const T& value, const boost::json::storage_ptr& storage) {
  boost::json::array row(storage);
  row.reserve(boost::mp11::mp_size<json_codec::Members<T>>::value);
  boost::mp11::mp_for_each<json_codec::Members<T>>([&](auto member) {
    row.push_back(json_codec::encode_value(value.*member.pointer, storage));
  });
  return row;
}

template <class T>
Result<void> decode_row(const Json& json, T& value, std::size_t required) {
  const auto* row = json.if_array();
  if (!row) return json_codec::wrong_type("an array", json);
  if (row->size() < required) return json_codec::wrong("the array is too short");
  Result<void> result;
  std::size_t next = 0;
  boost::mp11::mp_for_each<json_codec::Members<T>>([&](auto member) {
    if (!result || next >= row->size()) return;
    auto decoded = json_codec::decode_value((*row)[next++], value.*member.pointer);
    if (!decoded) result = json_codec::at(member.name, std::move(decoded.error()));
  });
  return result;
}

template <class T>
Json encode(const T& value) {
  return json_codec::encode_value(value, {});
}

template <class T>
Result<T> decode(const Json& json) {
  T value{};
  auto decoded = json_codec::decode_value(json, value);
  if (!decoded) return json_codec::without_separator(std::move(decoded.error()));
  return value;
}

// For to_string() and from_name() of an enum that BOOST_DESCRIBE_ENUM describes in the same .cc: its names are those of
// the enumerators. retired_names(const E*) returns names that are still read, as pairs of name and value.
template <class E>
constexpr std::string_view enum_name(E value) {
  std::string_view name;
  boost::mp11::mp_for_each<boost::describe::describe_enumerators<E>>([&](auto each) {
    if (each.value == value) name = each.name;
  });
  return name;
}

template <class E>
bool enum_from_name(std::string_view name, E& value) {
  bool found = false;
  boost::mp11::mp_for_each<boost::describe::describe_enumerators<E>>([&](auto each) {
    if (found || name != each.name) return;
    value = each.value;
    found = true;
  });
  if constexpr (requires { retired_names(static_cast<const E*>(nullptr)); }) {
    for (const auto& [retired, now] : retired_names(static_cast<const E*>(nullptr))) {
      if (found || name != retired) continue;
      value = now;
      found = true;
    }
  }
  return found;
}

}  // namespace specgen
