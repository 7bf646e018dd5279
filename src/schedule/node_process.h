#pragma once
// The real host: a specgen-node process, here or behind ssh, and frames over its pipes. Every connect() starts one;
// dropping the link kills it with all that it has started (behind ssh: the node sees its controller go and ends).
// What it writes to its standard error is kept, the last of it, for the error that tells how it ended.
//
// Owned by the run; outlives the pool. Loop and processes outlive it.

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/loop.h"
#include "runtime/subprocess.h"
#include "schedule/host_link.h"

namespace specgen {

struct NodeCommand {
  std::string name = "this host";       // in messages
  std::vector<std::string> words = {};  // {"ssh", "gpu1", "specgen-node"}; empty: the one beside us
  std::vector<std::string> devices = {};  // for --devices; empty: all that are usable
  std::vector<std::string> flags = {};    // more of them
  std::optional<std::vector<std::string>> environment = {};  // NAME=VALUE; ours if not given
  std::filesystem::path folder = {};                         // to run in; ours if empty
};

class NodeProcess final : public Host {
 public:
  NodeProcess(Loop& loop, Processes& processes, NodeCommand command);

  std::string name() const override { return command_.name; }
  Task<Result<std::unique_ptr<HostLink>>> connect() override;

 private:
  Loop& loop_;
  Processes& processes_;
  NodeCommand command_;
};

}  // namespace specgen
