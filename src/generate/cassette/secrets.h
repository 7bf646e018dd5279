#pragma once
// What must not get into a cassette. Keys travel in headers, now and then in a query or a body, and some
// servers repeat them in their complaints. So headers, and members of a query, are kept only if they are
// known to be harmless; and what a request carried as a key is blanked wherever else it shows up.

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "generate/cassette/recording.h"
#include "generate/http/http_client.h"

namespace specgen {

HttpHeaders harmless_headers(const HttpHeaders& headers);  // names in lower case
std::string harmless_target(std::string_view target);  // the path, and of the query what is known
std::string harmless_url(std::string_view url);        // without user, password and query

// What this request carries under a name that keys have, longest first.
std::vector<std::string> secrets_in(const HttpHeaders& headers, std::string_view target,
                                    std::string_view body);

std::string without_secrets(std::string text, const std::vector<std::string>& secrets);

// The same for pieces of a stream, over whose edges a secret may lie: a piece is held back until no
// secret can begin in it that has not ended.
class SecretBlanker {
 public:
  explicit SecretBlanker(std::vector<std::string> secrets);

  void add(RecordedPiece piece);
  std::vector<RecordedPiece> take();  // those that are known to be clean
  std::vector<RecordedPiece> rest();  // at the end

 private:
  void blank();

  std::vector<std::string> secrets_;
  std::size_t longest_ = 0;
  std::deque<RecordedPiece> held_;
  std::size_t held_bytes_ = 0;
};

}  // namespace specgen
