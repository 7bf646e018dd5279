#pragma once
// JSON is boost::json; a file that builds or reads values includes <boost/json.hpp> in its .cc.
// Parsing goes through here, so that limits and errors are the same everywhere.

#include <string>
#include <string_view>

#include "base/error.h"

namespace boost::json {
class value;
}

namespace specgen {

using Json = boost::json::value;

Result<Json> parse_json(std::string_view text);

// What a program of ours tells of itself: the member if it is there and of that type, else nothing.
std::string text_at(const Json& object, std::string_view key);
bool flag_at(const Json& object, std::string_view key);

// Two-space indented, keys in the order they were put in, a newline at the end: for --json and for
// people.
std::string pretty_json(const Json& value);

}  // namespace specgen
