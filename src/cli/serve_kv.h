#pragma once
// The KV cache of a node, as its command line asks for it: the store, its server, and what an evaluation asks back.

#include <memory>
#include <vector>

#include "base/error.h"
#include "cli/node_kv_words.h"
#include "evaluate/node/memory_lender.h"
#include "kvcache/kv_server.h"
#include "kvcache/kv_store.h"
#include "kvcache/lane_server.h"
#include "runtime/loop.h"
#include "runtime/real_driver.h"

namespace specgen {

// Its threads take no signals: open it when those of this thread are blocked.
struct ServingKv {
  std::unique_ptr<KvStore> store;
  std::unique_ptr<KvServer> server;
  std::unique_ptr<LaneServer> lane = {};  // if asked for
  std::unique_ptr<MemoryLender> lender;
};

// `cores` are those it keeps to, `gpus` those that lend memory too if the command says how much.
Result<ServingKv> start_kv(Loop& loop, RealDriver& driver, const ServeKv& command,
                           std::vector<int> cores, const std::vector<int>& gpus);

// "listening on 127.0.0.1:6380: a KV cache of 16.0 GiB, 8 threads"
std::string kv_banner(const ServingKv& serving);

}  // namespace specgen
