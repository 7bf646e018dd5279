#pragma once
// The URL of a model server, checked before anything is sent, so that a mistake gets a clear message.

#include <string>
#include <string_view>

#include "base/error.h"

namespace specgen {

struct EndpointUrl {
  std::string base;    // "https://host:port/v1", without a trailing slash
  std::string origin;  // "https://host:port"
  std::string root;    // the base without "/v1": where servers have their own endpoints

  std::string api(std::string_view path) const { return base + std::string(path); }
  std::string native(std::string_view path) const { return root + std::string(path); }
};

// A URL without a path gets "/v1". One with a user name and password is refused: keys come from the
// environment or a file.
Result<EndpointUrl> parse_endpoint_url(std::string_view text);

}  // namespace specgen
