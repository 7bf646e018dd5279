#pragma once
// Parsing for those who read a text and drop it: the caller says where the value lives. In a
// boost::json::monotonic_resource on the stack it costs no allocation, and nothing to destroy. The value must not
// outlive that.

#include <string_view>

#include "base/json.h"

namespace boost::json {
class storage_ptr;
}

namespace specgen {

Result<Json> parse_json(std::string_view text, const boost::json::storage_ptr& storage);

}  // namespace specgen
