#include "generate/http/curl_messages.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <memory>

#include "base/text.h"
#include "generate/http/curl_library.h"

namespace specgen {
namespace {

// A URL, perhaps malformed, without user, password and query.
std::string without_secrets(std::string_view url) {
  url = url.substr(0, url.find_first_of("?#"));
  auto scheme = url.find("://");
  auto host = scheme == url.npos ? 0 : scheme + 3;
  auto at = url.substr(0, url.find('/', host)).rfind('@');
  std::string shown(at != url.npos && at >= host ? url.substr(at + 1) : url);
  constexpr std::size_t kMax = 100;
  if (shown.size() > kMax) shown = shown.substr(0, kMax) + "...";
  for (char& c : shown) {
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  }
  return as_utf8(std::move(shown));
}

using Part = std::unique_ptr<char, decltype(&curl_free)>;
Part part_of(CURLU* url, CURLUPart part) {
  char* text = nullptr;
  curl_url_get(url, part, &text, CURLU_DEFAULT_PORT);
  return Part(text, curl_free);
}

constexpr std::string_view kTlsAdvice =
    "check the scheme and the port; if the certificate is your own, name its issuer's file as "
    "ca_file, or in SSL_CERT_FILE";

std::string_view advice_before_head(int curl_code) {
  switch (curl_code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
      return "check the spelling of the host, and that names can be looked up on this network";
    case CURLE_COULDNT_CONNECT:
      return "check that the server runs and listens on that port";
    case CURLE_OPERATION_TIMEDOUT:
      return "check the address and the network: nothing answers there";
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_INVALIDCERTSTATUS:
      return kTlsAdvice;
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_BAD_CONTENT_ENCODING:
      return "the server there does not speak HTTP: check the port, and http against https";
    case CURLE_GOT_NOTHING:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
      return "the server closed the connection without an answer: check its log";
    default:
      return {};
  }
}

}  // namespace

Result<std::string> http_origin(const std::string& url) {
  TRY(load_curl());  // for its URL parser
  std::unique_ptr<CURLU, decltype(&curl_url_cleanup)> parsed(curl_url(), curl_url_cleanup);
  CURLUcode code = curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), 0);
  // curl accepts both: it stops at a zero byte, and takes a path for a host.
  if (url.contains('\0') || url.contains(":///")) code = CURLUE_MALFORMED_INPUT;
  if (code != CURLUE_OK) {
    return fail(ErrorCode::bad_url,
                fmt::format("'{}': {}", without_secrets(url), curl_url_strerror(code)));
  }
  Part scheme = part_of(parsed.get(), CURLUPART_SCHEME);
  Part host = part_of(parsed.get(), CURLUPART_HOST);
  Part port = part_of(parsed.get(), CURLUPART_PORT);
  if (!scheme || !host || !port || !*host ||
      (std::string_view(scheme.get()) != "http" && std::string_view(scheme.get()) != "https")) {
    return fail(ErrorCode::bad_url,
                fmt::format("'{}' is not http:// or https://", without_secrets(url)));
  }
  return fmt::format("{}://{}:{}", scheme.get(), host.get(), port.get());
}

Error curl_error(int curl_code, std::string_view detail, std::string_view origin,
                 bool head_received) {
  if (detail.empty()) detail = curl_easy_strerror(static_cast<CURLcode>(curl_code));
  std::string context = as_utf8(fmt::format("{}: {}", origin, detail));
  if (head_received) return {ErrorCode::stream_broken, std::move(context), {}};
  return {ErrorCode::endpoint_unreachable, std::move(context),
          std::string(advice_before_head(curl_code))};
}

}  // namespace specgen
