#pragma once
// The listening socket of a KV node: HOST:PORT or unix:PATH, and whether other hosts can reach it.

#include <string>
#include <string_view>

#include "base/error.h"
#include "base/file.h"

namespace specgen {

class KvListening {
 public:
  // A local socket has mode 0600, and its file is removed by the destructor. A file left over from a node that has
  // ended is replaced; one with a listening process is not.
  static Result<KvListening> open(std::string_view address);
  KvListening(KvListening&& other) noexcept = default;
  KvListening& operator=(KvListening&& other) noexcept = default;
  ~KvListening();

  int get() const { return fd_.get(); }
  Fd take() { return std::move(fd_); }
  int port() const { return port_; }  // the actual port; 0: a local socket
  // Whether only processes of this host can connect.
  bool is_local() const { return is_local_; }
  const std::string& address() const { return address_; }  // with the actual port

 private:
  KvListening() = default;
  static Result<KvListening> open_path(std::string path);
  static Result<KvListening> open_port(std::string_view address);

  Fd fd_;
  int port_ = 0;
  bool is_local_ = true;
  std::string address_;
  std::string path_;  // of a local socket
};

}  // namespace specgen
