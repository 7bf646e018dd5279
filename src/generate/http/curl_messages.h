#pragma once
// Errors of libcurl as Errors with advice, and the check of a URL. Their texts never contain a secret: of a URL only
// scheme, host and port are shown.

#include <string>
#include <string_view>

#include "base/error.h"

namespace specgen {

// "https://api.example.com:443" of a URL; an error if it is not an HTTP URL.
Result<std::string> http_origin(const std::string& url);

// `curl_code` is a CURLcode, `detail` curl's error buffer, `origin` the server. Before the head of the answer
// this means
// that the server was not reached; after it, that the stream broke.
Error curl_error(int curl_code, std::string_view detail, std::string_view origin,
                 bool head_received);

}  // namespace specgen
