#include "generate/http/http_client.h"

#include <curl/curl.h>
#include <fmt/format.h>
#include <strings.h>

#include <array>
#include <charconv>
#include <filesystem>

#include "base/assert.h"
#include "base/environment.h"
#include "base/text.h"
#include "generate/http/curl_engine.h"
#include "generate/http/curl_library.h"
#include "generate/http/curl_messages.h"
#include "runtime/sync.h"
#include "runtime/task_group.h"

namespace specgen {
namespace {

constexpr long kReadBuffer = 8 * 1024;     // per open stream
constexpr long kUploadBuffer = 16 * 1024;  // the minimum of curl
constexpr std::size_t kMaxHead = 256 * 1024;
// Times buffered_bytes. Pausing one stream of a shared connection makes curl 7.88 stop reading the whole connection:
// its data is buffered instead.
constexpr std::size_t kHttp2BufferFactor = 64;

template <class Value>
void set(CURL* easy, CURLoption option, Value value) {
  CURLcode code = curl_easy_setopt(easy, option, value);
  SG_ASSERT(code == CURLE_OK, "libcurl lacks a required option");
}

bool same_name(std::string_view a, std::string_view b) {
  return a.size() == b.size() && ::strncasecmp(a.data(), b.data(), a.size()) == 0;
}

bool breaks_a_line(std::string_view text) {
  return text.find_first_of(std::string_view("\r\n\0", 3)) != text.npos;
}

// An archive runs on hosts that store their certificates elsewhere than Debian, for which its curl was built.
std::string system_certificates() {
  if (auto named = environment_variable("SSL_CERT_FILE"); named && !named->empty()) return *named;
  for (const char* path : {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
                           "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"}) {
    std::error_code ignored;
    if (std::filesystem::exists(path, ignored)) return path;
  }
  return {};
}

// A proxy of the environment is not used for local addresses.
std::string hosts_without_proxy() {
  std::string hosts = "localhost,127.0.0.0/8,::1";
  for (const char* name : {"no_proxy", "NO_PROXY"}) {
    auto named = environment_variable(name);
    if (!named || named->empty()) continue;
    return *named == "*" ? *named : hosts + "," + *named;
  }
  return hosts;
}

class CurlClient;

class CurlExchange final : public HttpExchange, private CurlEngine::Transfer {
 public:
  CurlExchange(CurlClient& client, HttpRequest request);
  ~CurlExchange() override;

  Task<Result<HttpHead>> head() override;
  Task<Result<std::optional<std::string>>> read() override;

 private:
  Result<void> prepare();
  void set_request_options();
  void set_transport_options();
  void add_header(const std::string& line);
  void on_end(int curl_code) override;
  void release();
  void fail_with(Error error);

  static std::size_t on_header(char* bytes, std::size_t size, std::size_t count,
                               void* self) noexcept;
  static std::size_t on_body(char* bytes, std::size_t size, std::size_t count, void* self) noexcept;
  bool take_header(std::string_view line);
  Event::Wait wait_for_change() {
    changed_.reset();
    return changed_.wait();
  }

  CurlClient& client_;
  HttpRequest request_;  // curl reads the body from it
  std::string origin_;
  CURL* easy_ = nullptr;  // null once curl is done
  curl_slist* header_lines_ = nullptr;
  std::array<char, CURL_ERROR_SIZE> curl_message_{};

  Event changed_;
  HttpHead head_;
  std::size_t head_bytes_ = 0;
  bool head_received_ = false;
  bool shares_connection_ = false;  // HTTP/2
  std::string unread_;              // body received and not yet read
  bool paused_ = false;
  bool done_ = false;
  std::optional<Error> error_;
};

class CurlClient final : public HttpClient {
 public:
  CurlClient(Loop& loop, RealDriver& driver, HttpClientOptions options)
      : loop_(loop),
        options_(std::move(options)),
        no_proxy_(options_.proxy.empty() ? hosts_without_proxy() : ""),
        engine_(loop, driver) {}

  std::unique_ptr<HttpExchange> send(HttpRequest request) override {
    return std::make_unique<CurlExchange>(*this, std::move(request));
  }
  Task<void> warm(HttpRequest request, std::size_t connections) override;

  Loop& loop() { return loop_; }
  CurlEngine& engine() { return engine_; }
  const HttpClientOptions& options() const { return options_; }
  const std::string& no_proxy() const { return no_proxy_; }

 private:
  static Task<void> open_one(CurlClient& client, HttpRequest request);

  Loop& loop_;
  HttpClientOptions options_;
  std::string no_proxy_;
  CurlEngine engine_;
};

CurlExchange::CurlExchange(CurlClient& client, HttpRequest request)
    : client_(client), request_(std::move(request)), changed_(client.loop()) {
  auto prepared = prepare();
  if (prepared) {
    client_.engine().add(easy_, *this);
  } else {
    fail_with(std::move(prepared).error());
  }
}

CurlExchange::~CurlExchange() {
  release();
}

Result<void> CurlExchange::prepare() {
  origin_ = TRY(http_origin(request_.url));
  if (breaks_a_line(request_.method) || breaks_a_line(request_.secret_header)) {
    return fail(ErrorCode::bad_config, "a key or a method contains a line break",
                "remove the line break from the key");
  }
  for (const auto& [name, value] : request_.headers) {
    if (breaks_a_line(name) || breaks_a_line(value)) {
      return fail(ErrorCode::bad_config, fmt::format("a header of the request to {}", origin_),
                  "remove the line break from it");
    }
    // curl drops a header with nothing after the colon; a semicolon makes it send an empty one.
    add_header(value.empty() ? name + ";" : name + ": " + value);
  }
  if (!request_.secret_header.empty()) add_header(request_.secret_header);
  add_header("Expect:");  // curl would wait a second for "100 Continue" before a long prompt
  easy_ = curl_easy_init();
  SG_ASSERT(easy_, "libcurl has no memory");
  set_request_options();
  set_transport_options();
  return {};
}

void CurlExchange::set_request_options() {
  set(easy_, CURLOPT_URL, request_.url.c_str());
  set(easy_, CURLOPT_PROTOCOLS_STR, "http,https");
  set(easy_, CURLOPT_HTTPHEADER, header_lines_);
  set(easy_, CURLOPT_USERAGENT, "specgen");
  if (request_.method == "HEAD") {
    set(easy_, CURLOPT_NOBODY, 1L);
  } else if (request_.method == "POST" || !request_.body.empty()) {
    set(easy_, CURLOPT_POST, 1L);
    set(easy_, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request_.body.size()));
    set(easy_, CURLOPT_POSTFIELDS, request_.body.data());
  }
  if (request_.method != "HEAD" && request_.method != "POST") {
    set(easy_, CURLOPT_CUSTOMREQUEST, request_.method.c_str());
  }
  set(easy_, CURLOPT_ERRORBUFFER, curl_message_.data());
  set(easy_, CURLOPT_HEADERFUNCTION, &CurlExchange::on_header);
  set(easy_, CURLOPT_HEADERDATA, static_cast<void*>(this));
  set(easy_, CURLOPT_WRITEFUNCTION, &CurlExchange::on_body);
  set(easy_, CURLOPT_WRITEDATA, static_cast<void*>(this));
}

void CurlExchange::set_transport_options() {
  const HttpClientOptions& options = client_.options();
  set(easy_, CURLOPT_HTTP_VERSION,
      static_cast<long>(options.http2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1));
  if (options.http2) set(easy_, CURLOPT_PIPEWAIT, 1L);  // prefer sharing to a new connection
  if (!options.ca_file.empty()) set(easy_, CURLOPT_CAINFO, options.ca_file.c_str());
  if (!options.proxy.empty()) set(easy_, CURLOPT_PROXY, options.proxy.c_str());
  set(easy_, CURLOPT_NOPROXY, client_.no_proxy().c_str());
  set(easy_, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  auto limit = std::chrono::ceil<std::chrono::milliseconds>(options.connect_timeout);
  set(easy_, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(limit.count()));
  set(easy_, CURLOPT_TCP_KEEPALIVE, 1L);  // a peer that lost power sends nothing
  set(easy_, CURLOPT_NOSIGNAL, 1L);
  // A cancelled name lookup is left to its thread, which cleans up after itself; curl would join the thread, and block
  // the loop until the name server answers.
  set(easy_, CURLOPT_QUICK_EXIT, 1L);
  set(easy_, CURLOPT_BUFFERSIZE, kReadBuffer);
  set(easy_, CURLOPT_UPLOAD_BUFFERSIZE, kUploadBuffer);
}

void CurlExchange::add_header(const std::string& line) {
  header_lines_ = curl_slist_append(header_lines_, line.c_str());
  SG_ASSERT(header_lines_, "libcurl has no memory");
}

void CurlExchange::release() {
  if (easy_) {
    client_.engine().remove(easy_);
    curl_easy_cleanup(std::exchange(easy_, nullptr));
  }
  curl_slist_free_all(std::exchange(header_lines_, nullptr));
}

void CurlExchange::fail_with(Error error) {
  error_ = std::move(error);
  done_ = true;
  changed_.set();
}

std::size_t CurlExchange::on_header(char* bytes, std::size_t size, std::size_t count,
                                    void* self) noexcept {
  bool taken = static_cast<CurlExchange*>(self)->take_header({bytes, size * count});
  return taken ? size * count : 0;
}

bool CurlExchange::take_header(std::string_view line) {
  if (head_received_) return true;  // trailers
  head_bytes_ += line.size();
  if (head_bytes_ > kMaxHead) {
    error_ = Error{ErrorCode::stream_broken,
                   fmt::format("{}: the head of the answer is larger than {}", origin_,
                               format_bytes({kMaxHead})),
                   {}};
    return false;
  }
  line = trim(line);
  if (line.starts_with("HTTP/")) {
    head_ = {};
    shares_connection_ = line.starts_with("HTTP/2");
    auto space = line.find(' ');
    if (space != line.npos) {
      std::from_chars(line.data() + space + 1, line.data() + line.size(), head_.status);
    }
  } else if (line.empty()) {
    if (head_.status < 200) return true;  // an interim answer: the final one follows
    head_received_ = true;
    changed_.set();
  } else if (auto colon = line.find(':'); colon != line.npos) {
    head_.headers.emplace_back(trim(line.substr(0, colon)), trim(line.substr(colon + 1)));
  }
  return true;
}

std::size_t CurlExchange::on_body(char* bytes, std::size_t size, std::size_t count,
                                  void* self) noexcept {
  auto& exchange = *static_cast<CurlExchange*>(self);
  std::size_t limit = exchange.client_.options().buffered_bytes;
  if (exchange.unread_.size() >= limit && !exchange.shares_connection_) {
    exchange.paused_ = true;
    return CURL_WRITEFUNC_PAUSE;  // curl passes these bytes again later
  }
  if (exchange.unread_.size() >= limit * kHttp2BufferFactor) {
    exchange.error_ = Error{ErrorCode::stream_broken,
                            fmt::format("{}: {} were received and not read", exchange.origin_,
                                        format_bytes({exchange.unread_.size()})),
                            "use HTTP/1.1, where a reader may be slow"};
    return 0;
  }
  exchange.unread_.append(bytes, size * count);
  exchange.changed_.set();
  return size * count;
}

void CurlExchange::on_end(int code) {
  if (code != CURLE_OK && !error_) {
    error_ = curl_error(code, curl_message_.data(), origin_, head_received_);
  } else if (code == CURLE_OK && !head_received_) {
    error_ = curl_error(CURLE_WEIRD_SERVER_REPLY, {}, origin_, false);
  }
  release();  // curl's buffers; its connection may be reused
  done_ = true;
  changed_.set();
}

Task<Result<HttpHead>> CurlExchange::head() {
  while (!head_received_ && !done_) co_await wait_for_change();
  if (!head_received_) co_return std::unexpected(*error_);
  co_return head_;
}

Task<Result<std::optional<std::string>>> CurlExchange::read() {
  while (unread_.empty() && !done_) co_await wait_for_change();
  if (!unread_.empty()) {
    std::string piece = std::exchange(unread_, {});
    if (std::exchange(paused_, false) && easy_) curl_easy_pause(easy_, CURLPAUSE_CONT);
    co_return piece;
  }
  if (error_) co_return std::unexpected(*error_);
  co_return std::nullopt;
}

Task<void> CurlClient::open_one(CurlClient& client, HttpRequest request) {
  (void)co_await fetch(client, std::move(request), MiB(1));  // the answer does not matter
}

Task<void> CurlClient::warm(HttpRequest request, std::size_t connections) {
  TaskGroup group(loop_);
  // All at once: a later request would reuse the connection of an answered one.
  for (std::size_t i = 0; i < connections; ++i) group.spawn(open_one(*this, request));
  (void)co_await group.join();
}

}  // namespace

Result<std::unique_ptr<HttpClient>> HttpClient::open(Loop& loop, RealDriver& driver,
                                                     HttpClientOptions options) {
  TRY(load_curl());
  if (options.ca_file.empty()) {
    options.ca_file = system_certificates();
  } else if (std::error_code ignored; !std::filesystem::exists(options.ca_file, ignored)) {
    return fail(ErrorCode::file_not_found, options.ca_file,
                "ca_file is the file of certificates that servers are verified with");
  }
  return std::make_unique<CurlClient>(loop, driver, std::move(options));
}

std::string_view header_value(const HttpHeaders& headers, std::string_view name) {
  for (const auto& [known, value] : headers) {
    if (same_name(known, name)) return value;
  }
  return {};
}

Task<Result<HttpResponse>> fetch(HttpClient& client, HttpRequest request, Bytes limit) {
  auto exchange = client.send(std::move(request));
  HttpResponse response{.head = CO_TRY(co_await exchange->head()), .body = {}};
  while (auto piece = CO_TRY(co_await exchange->read())) {
    response.body += *piece;
    if (response.body.size() > limit.count) {
      co_return fail(ErrorCode::stream_broken,
                     fmt::format("the answer is larger than {}", format_bytes(limit)),
                     "this does not look like a model server: check the URL");
    }
  }
  co_return response;
}

}  // namespace specgen
