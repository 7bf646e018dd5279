#pragma once
// Keeps secrets out of cassettes. Keys are sent in headers, sometimes in a query or a body, and some
// servers repeat them in error messages. So headers and query parameters are kept only if they are
// known to be harmless, and a request's key is replaced wherever else it occurs.

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "generate/cassette/recording.h"
#include "generate/http/http_client.h"

namespace specgen {

HttpHeaders harmless_headers(const HttpHeaders& headers);  // names in lower case
std::string harmless_target(std::string_view target);  // the path, and harmless query parameters
std::string harmless_url(std::string_view url);        // without user, password and query

// The values that this request sends under names of keys, longest first.
std::vector<std::string> secrets_in(const HttpHeaders& headers, std::string_view target,
                                    std::string_view body);

std::string without_secrets(std::string text, const std::vector<std::string>& secrets);

// The same for pieces of a stream, where a secret may span several: a piece is held back until no
// unfinished secret can begin in it.
class SecretRedactor {
 public:
  explicit SecretRedactor(std::vector<std::string> secrets);

  void add(RecordedPiece piece);
  std::vector<RecordedPiece> take();  // pieces known to be clean
  std::vector<RecordedPiece> rest();  // all others, at the end

 private:
  void redact();

  std::vector<std::string> secrets_;
  std::size_t max_secret_ = 0;
  std::deque<RecordedPiece> held_;
  std::size_t held_bytes_ = 0;
};

}  // namespace specgen
