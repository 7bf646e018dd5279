#include "kvcache/kv_tls.h"

#include <dlfcn.h>
#include <fmt/core.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <string>

namespace specgen {
namespace {

constexpr std::size_t kRecord = 16 << 10;  // largest TLS record
constexpr const char* kAdvice =
    "install OpenSSL 3 (Debian: apt-get install libssl3), or let clients come over loopback or a "
    "local socket";

// The functions in use, by their own names.
struct Library {
  decltype(&::TLS_server_method) TLS_server_method;
  decltype(&::SSL_CTX_new) SSL_CTX_new;
  decltype(&::SSL_CTX_free) SSL_CTX_free;
  decltype(&::SSL_CTX_ctrl) SSL_CTX_ctrl;
  decltype(&::SSL_CTX_use_certificate_chain_file) SSL_CTX_use_certificate_chain_file;
  decltype(&::SSL_CTX_use_PrivateKey_file) SSL_CTX_use_PrivateKey_file;
  decltype(&::SSL_CTX_check_private_key) SSL_CTX_check_private_key;
  decltype(&::SSL_new) SSL_new;
  decltype(&::SSL_free) SSL_free;
  decltype(&::SSL_set_fd) SSL_set_fd;
  decltype(&::SSL_set_accept_state) SSL_set_accept_state;
  decltype(&::SSL_read) SSL_read;
  decltype(&::SSL_write) SSL_write;
  decltype(&::SSL_get_error) SSL_get_error;
  decltype(&::ERR_get_error) ERR_get_error;
  decltype(&::ERR_clear_error) ERR_clear_error;
  decltype(&::ERR_error_string_n) ERR_error_string_n;
};

Library g_library;

Result<void> load_library() {
  void* handle = ::dlopen("libssl.so.3", RTLD_NOW | RTLD_LOCAL);
  if (!handle) return fail(ErrorCode::tool_missing, ::dlerror(), kAdvice);
  const char* missing = nullptr;
  auto find = [&](auto& function, const char* name) {
    void* found = ::dlsym(handle, name);  // also searches its dependencies
    if (!found) missing = name;
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(found);
  };
#define SG_FIND(name) find(g_library.name, #name)
  SG_FIND(TLS_server_method);
  SG_FIND(SSL_CTX_new);
  SG_FIND(SSL_CTX_free);
  SG_FIND(SSL_CTX_ctrl);
  SG_FIND(SSL_CTX_use_certificate_chain_file);
  SG_FIND(SSL_CTX_use_PrivateKey_file);
  SG_FIND(SSL_CTX_check_private_key);
  SG_FIND(SSL_new);
  SG_FIND(SSL_free);
  SG_FIND(SSL_set_fd);
  SG_FIND(SSL_set_accept_state);
  SG_FIND(SSL_read);
  SG_FIND(SSL_write);
  SG_FIND(SSL_get_error);
  SG_FIND(ERR_get_error);
  SG_FIND(ERR_clear_error);
  SG_FIND(ERR_error_string_n);
#undef SG_FIND
  if (!missing) return {};
  return fail(ErrorCode::tool_missing, fmt::format("libssl.so.3 has no {}", missing), kAdvice);
}

std::string error_text() {
  char message[256] = "no reason given";
  if (unsigned long code = g_library.ERR_get_error()) {
    g_library.ERR_error_string_n(code, message, sizeof message);
  }
  return message;
}

class TlsStream final : public ByteStream {
 public:
  explicit TlsStream(SSL* ssl) : ssl_(ssl) {}
  ~TlsStream() override { g_library.SSL_free(ssl_); }

  Moved receive(std::span<const std::span<char>> buffers) override {
    std::span<char> target =
        buffers.front();  // a record is small: the rest follows with the next call
    g_library.ERR_clear_error();
    int n = g_library.SSL_read(ssl_, target.data(),
                               static_cast<int>(std::min<std::size_t>(target.size(), 1 << 30)));
    return result(n);
  }

  Moved send(std::span<const std::string_view> pieces) override {
    Moved all;
    for (std::string_view piece : pieces) {
      while (!piece.empty()) {
        g_library.ERR_clear_error();
        int n = g_library.SSL_write(ssl_, piece.data(),
                                    static_cast<int>(std::min(piece.size(), kRecord)));
        Moved moved = result(n);
        if (moved.status != Status::moved) return all.bytes > 0 ? all : moved;
        all = {Status::moved, all.bytes + moved.bytes};
        piece.remove_prefix(moved.bytes);
      }
    }
    return all;
  }

 private:
  Moved result(int n) {
    if (n > 0) return {Status::moved, static_cast<std::size_t>(n)};
    int error = g_library.SSL_get_error(ssl_, n);
    bool waits = error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE;
    return {waits ? Status::blocked : Status::ended, 0};
  }

  SSL* ssl_;
};

class LoadedTls final : public KvTls {
 public:
  explicit LoadedTls(SSL_CTX* context) : context_(context) {}
  ~LoadedTls() override { g_library.SSL_CTX_free(context_); }

  std::unique_ptr<ByteStream> accept(int socket) const override {
    SSL* ssl = g_library.SSL_new(context_);
    g_library.SSL_set_fd(ssl, socket);
    g_library.SSL_set_accept_state(ssl);
    return std::make_unique<TlsStream>(ssl);
  }

 private:
  SSL_CTX* context_;
};

}  // namespace

Result<std::unique_ptr<KvTls>> KvTls::open(const std::filesystem::path& certificate,
                                           const std::filesystem::path& key) {
  static const Result<void> kLoaded = load_library();
  if (!kLoaded) return std::unexpected(kLoaded.error());
  SSL_CTX* context = g_library.SSL_CTX_new(g_library.TLS_server_method());
  if (!context) return fail(ErrorCode::system_call, "OpenSSL: " + error_text());
  auto opened = std::make_unique<LoadedTls>(context);
  g_library.SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_2_VERSION, nullptr);
  // A repeated write may use another address. Buffers of idle connections are released.
  long modes = SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
               SSL_MODE_RELEASE_BUFFERS;
  g_library.SSL_CTX_ctrl(context, SSL_CTRL_MODE, modes, nullptr);
  if (g_library.SSL_CTX_use_certificate_chain_file(context, certificate.c_str()) != 1) {
    return fail(ErrorCode::bad_config, fmt::format("{}: {}", certificate.native(), error_text()),
                "give a file with the certificate chain in PEM");
  }
  if (g_library.SSL_CTX_use_PrivateKey_file(context, key.c_str(), SSL_FILETYPE_PEM) != 1 ||
      g_library.SSL_CTX_check_private_key(context) != 1) {
    return fail(ErrorCode::bad_config, fmt::format("{}: {}", key.native(), error_text()),
                "give a file with the key of the certificate, in PEM and without a pass phrase");
  }
  return opened;
}

}  // namespace specgen
