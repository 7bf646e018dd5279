#pragma once
// What `specgen kv` can be asked for, before anything is looked at.

#include <optional>
#include <string>
#include <vector>

namespace specgen {

struct ConfigureKv {  // `specgen kv config`
  std::string engine;
  std::string node;   // empty: an address to be filled in
  std::string model;  // a name of the table; empty: by shape
  int layers = 0, kv_heads = 0, head_dim = 0;
  std::string dtype = "bf16";
  double bytes_per_token = 0;
  int tensor_parallel = 1;
  double prefill_tokens_per_s = 0;  // 0: not known
  std::string password_file;
  bool json = false;
};

struct ShowKvStats {  // `specgen kv stats`
  std::string node;
  std::string password_file;
  bool json = false;
};

struct ServeKvGateway {  // `specgen kv gateway`
  std::string listen;
  std::vector<std::string> nodes;  // HOST:PORT[,weight=N]
  int threads = 0;                 // 0: as many as help here
  std::string password_file;
};

}  // namespace specgen
