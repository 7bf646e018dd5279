#pragma once
// An evaluation host that is a specgen-node process, local or behind ssh, with frames over its pipes. Each connect()
// starts one; dropping the link kills it with everything it has started (behind ssh the node notices that its
// controller
// is gone and ends). The end of its standard error is kept for error messages.
//
// Owned by the run; must outlive the pool. Loop and processes must outlive it.

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
  std::string name = "this host";  // in messages
  std::vector<std::string> argv =
      {};  // {"ssh", "gpu1", "specgen-node"}; empty: the one in our folder
  std::vector<std::string> devices = {};  // for --devices; empty: all usable ones
  std::vector<std::string> flags = {};    // further arguments
  std::optional<std::vector<std::string>> environment = {};  // NAME=VALUE; default: ours
  std::filesystem::path folder = {};                         // working directory; empty: ours
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
