#pragma once
// What libcurl says, in our words: which URLs are servers, and errors that tell a person what to do. Nothing here
// repeats a secret: of a URL only scheme, host and port are ever shown.

#include <string>
#include <string_view>

#include "base/error.h"

namespace specgen {

// "https://api.example.com:443" of a URL; an error if it is not one that can be asked.
Result<std::string> http_origin(const std::string& url);

// `curl_code` is a CURLcode, `words` what curl adds to it, `origin` the server. Before the head has come the server was
// not reached; after it, the stream is broken.
Error curl_error(int curl_code, std::string_view words, std::string_view origin, bool head_came);

}  // namespace specgen
