#pragma once
// The address of a model server, looked at before anything is sent: a mistake in it is told in words,
// not by a library's number.

#include <string>
#include <string_view>

#include "base/error.h"

namespace specgen {

struct EndpointUrl {
  std::string base;    // "https://host:port/v1", without a slash at its end
  std::string origin;  // "https://host:port"
  std::string root;    // the base without "/v1": where servers have what OpenAI does not

  std::string api(std::string_view path) const { return base + std::string(path); }
  std::string native(std::string_view path) const { return root + std::string(path); }
};

// An address without a path gets "/v1". One with a name and password is refused: keys come from the
// environment or a file.
Result<EndpointUrl> parse_endpoint_url(std::string_view text);

}  // namespace specgen
