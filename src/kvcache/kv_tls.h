#pragma once
// TLS for connections that leave the host. OpenSSL is loaded on first use, not linked: a node is copied to hosts
// that may not have it, and most never need it. accept() is thread-safe.

#include <filesystem>
#include <memory>

#include "base/error.h"
#include "kvcache/byte_stream.h"

namespace specgen {

class KvTls {
 public:
  // A certificate chain and its key, both PEM. Requires TLS 1.2 or newer.
  static Result<std::unique_ptr<KvTls>> open(const std::filesystem::path& certificate,
                                             const std::filesystem::path& key);
  virtual ~KvTls() = default;

  // The server side of a connection over a non-blocking socket, which must outlive it. The handshake is part of the
  // first reads and writes.
  virtual std::unique_ptr<ByteStream> accept(int socket) const = 0;
};

}  // namespace specgen
