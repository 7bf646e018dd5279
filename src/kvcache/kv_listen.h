#pragma once
// Where a KV node listens: HOST:PORT or unix:PATH, and who can reach that.

#include <string>
#include <string_view>

#include "base/error.h"
#include "base/file.h"

namespace specgen {

class KvListening {
 public:
  // A local socket is its owner's alone (mode 0600), and its file goes when this does. A file that a node left behind
  // is replaced; one that somebody listens on is not.
  static Result<KvListening> open(std::string_view address);
  KvListening(KvListening&& other) noexcept = default;
  KvListening& operator=(KvListening&& other) noexcept = default;
  ~KvListening();

  int get() const { return fd_.get(); }
  Fd take() { return std::move(fd_); }
  int port() const { return port_; }  // the one it got, if it was told 0; 0 of a local socket
  // Whether only programs of this host can connect.
  bool is_local() const { return is_local_; }
  const std::string& address() const { return address_; }  // with the port that it got

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
