#include "generate/openai/endpoint_url.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "base/text.h"

namespace specgen {
namespace {

constexpr std::size_t kMax = 2048;

std::unexpected<Error> refuse(std::string_view text, std::string_view why) {
  // The text is not shown if it may contain a password.
  std::string shown = text.contains('@') ? "the address" : fmt::format("'{}'", text);
  return fail(ErrorCode::bad_url,
              fmt::format("{} is not the address of a model server: {}", shown, why),
              "write http://HOST:PORT/v1 or https://HOST/PATH");
}

bool is_port(std::string_view text) {
  int port = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size() && port > 0 && port < 65'536;
}

bool is_host_letter(char c) {
  return is_letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
}

}  // namespace

Result<EndpointUrl> parse_endpoint_url(std::string_view text) {
  if (text.size() > kMax) return refuse(text.substr(0, 60), "it is too long");
  std::size_t scheme_end = text.find("://");
  std::string_view scheme = text.substr(0, scheme_end);
  if (scheme_end == std::string_view::npos || (scheme != "http" && scheme != "https")) {
    return refuse(text, "it must begin with http:// or https://");
  }
  auto is_odd = [](char c) { return c <= ' ' || c == 0x7f || c == '"' || c == '\\'; };
  if (std::ranges::any_of(text, is_odd)) return refuse(text, "it has an invalid character");
  std::string_view rest = text.substr(scheme_end + 3);
  std::string_view authority = rest.substr(0, rest.find_first_of("/?#"));
  std::string_view path = rest.substr(authority.size());
  if (authority.contains('@')) return refuse(text, "it contains a user name or password");
  if (path.find_first_of("?#") != std::string_view::npos) return refuse(text, "it has a query");
  std::string_view host = authority;
  if (authority.starts_with('[')) {  // IPv6
    std::size_t end = authority.find(']');
    if (end == std::string_view::npos) return refuse(text, "'[' is not closed");
    host = authority.substr(0, end + 1);
    auto is_part = [](char c) { return is_host_letter(c) || c == ':'; };
    if (end < 3 || !std::ranges::all_of(host.substr(1, end - 1), is_part)) {
      return refuse(text, "its host is not an address");
    }
  } else {
    host = authority.substr(0, authority.find(':'));
    if (host.empty() || !std::ranges::all_of(host, is_host_letter)) {
      return refuse(text, "it names no host");
    }
  }
  std::string_view port = authority.substr(host.size());
  if (!port.empty() && (port.front() != ':' || !is_port(port.substr(1)))) {
    return refuse(text, "its port is not a number from 1 to 65535");
  }
  while (path.ends_with('/')) path.remove_suffix(1);

  EndpointUrl url;
  url.origin = fmt::format("{}://{}", scheme, authority);
  url.base = url.origin + std::string(path.empty() ? "/v1" : path);
  url.root = url.base.ends_with("/v1") ? url.base.substr(0, url.base.size() - 3) : url.base;
  return url;
}

}  // namespace specgen
