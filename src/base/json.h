#pragma once
// JSON is boost::json; a file that builds or reads values includes <boost/json.hpp> in its .cc.
// Parsing goes through here, so that limits and errors are the same everywhere.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace boost::json {
class value;
}

namespace specgen {

using Json = boost::json::value;

Result<Json> parse_json(std::string_view text);

// For documents that our own programs wrote: the member if it is there and of that type, else nothing.
std::string text_at(const Json& object, std::string_view key);
bool flag_at(const Json& object, std::string_view key);
std::int64_t int_at(const Json& object, std::string_view key, std::int64_t otherwise = 0);
double number_at(const Json& object, std::string_view key, double otherwise = 0);
const Json* member_at(const Json& object, std::string_view key);  // null if it is not there

Json finite_or_null(double number);  // JSON knows neither infinity nor NaN

// Both give JSON that can be read again, whatever bytes a text holds: those that are no UTF-8 become
// U+FFFD.
//
// On one line, for messages between programs of ours.
std::string compact_json(const Json& value);

// Two-space indented, keys in the order they were put in, a newline at the end: for --json and for
// people.
std::string pretty_json(const Json& value);

}  // namespace specgen
