#pragma once
// The command line of `specgen-node`.

#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/error.h"
#include "base/units.h"

namespace specgen {

struct PrintNodeHelp {  // or the version
  std::string text;
};

struct CheckNode {  // --check
  bool json = false;
  Duration time_limit = std::chrono::seconds(20);
};

struct NodeKvOptions {  // --kv
  Bytes host = {};
  std::optional<Bytes> device = {};  // of each GPU
  std::string listen = "127.0.0.1:6380";
  std::string shm_socket = {};  // a socket for clients that share memory; empty: none
  std::string metrics = {};
  bool is_open = false;
  std::string password_file = {};
  std::string tls_certificate = {};
  std::string tls_key = {};
  double prefill_tokens_per_s = 0;
  double bytes_per_token = 0;
  std::size_t threads = 0;          // 0: one for each core
  Bytes job_memory = GiB(2);        // made free before a job, if it is not
  std::optional<Bytes> quota = {};  // of one task
};

struct ServeNode {
  std::vector<std::string> devices = {};
  std::string compiler = {};  // programs to use instead of those found; empty: those
  std::string python = {};
  std::string ncu = {};
  std::optional<NodeKvOptions> kv = {};
};

using NodeRequest = std::variant<ServeNode, CheckNode, PrintNodeHelp>;

// Without the program's name.
Result<NodeRequest> parse_node(std::span<const std::string> arguments);

}  // namespace specgen
