#include "kvcache/kv_address.h"

#include <fmt/core.h>

#include <charconv>

namespace specgen {

std::string KvAddress::text() const {
  if (is_unix()) return "unix:" + path;
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port)
                                             : fmt::format("[{}]:{}", host, port);
}

Result<KvAddress> parse_kv_address(std::string_view text) {
  constexpr std::string_view kUnix = "unix:";
  auto wrong = [&] {
    return fail(ErrorCode::bad_usage, fmt::format("'{}' is not the address of a node", text),
                "write HOST:PORT, such as 10.0.0.2:6379, or unix:PATH");
  };
  if (text.starts_with(kUnix)) {
    constexpr std::size_t kMaxPath = 107;  // limit of the system
    std::string path(text.substr(kUnix.size()));
    if (path.empty() || path.size() > kMaxPath) return wrong();
    return KvAddress{.host = {}, .port = 0, .path = path};
  }
  std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return wrong();
  std::string_view digits = text.substr(colon + 1);
  int port = 0;
  auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  bool is_number = error == std::errc() && stop == digits.data() + digits.size();
  if (!is_number || port < 0 || port > 65535) return wrong();
  std::string_view host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return KvAddress{.host = std::string(host), .port = port, .path = {}};
}

}  // namespace specgen
