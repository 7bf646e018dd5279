#pragma once
// The address of a node, as users write it: HOST:PORT, [IPv6]:PORT or unix:PATH.

#include <string>
#include <string_view>

#include "base/error.h"

namespace specgen {

struct KvAddress {
  std::string host;
  int port = 0;
  std::string path;  // of a Unix socket; then host is empty

  bool is_unix() const { return !path.empty(); }
  std::string text() const;
};

Result<KvAddress> parse_kv_address(std::string_view text);

}  // namespace specgen
