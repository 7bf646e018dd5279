#pragma once
// The words of `specgen-node --kv ...`, for command_line.cc.

#include <optional>
#include <string>

#include "base/error.h"
#include "base/units.h"

namespace CLI {
class App;
}

namespace specgen {

struct ServeKv {  // `specgen-node --kv`
  Bytes host;
  std::optional<Bytes> device;  // of each GPU
  std::string listen;
  std::string lane;  // a socket for clients that share memory; empty: none
  std::string metrics;
  bool is_open = false;
  std::string password_file;
  std::string tls_certificate;
  std::string tls_key;
  double prefill_tokens_per_s = 0;
  double bytes_per_token = 0;
  std::size_t lanes = 0;       // 0: as many as there are cores
  Bytes job_memory = GiB(2);   // that is made free before a job, if it is not
  std::optional<Bytes> quota;  // of one task
};

class NodeKvWords {
 public:
  void add_to(CLI::App& app);
  // Nothing without --kv; then none of the others may be there.
  Result<std::optional<ServeKv>> look() const;

 private:
  struct Texts {
    std::string kv, prefill, bytes_per_token, lanes, job_memory, quota;
  };
  Texts texts_;
  ServeKv command_;
  CLI::App* app_ = nullptr;
};

}  // namespace specgen
