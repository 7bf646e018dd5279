#pragma once
// For the tests of this module: an evaluation host inside the loop. Parts of a candidate's source control its result:
// "wrong" fails validation, "slow" takes a minute, "poison" kills the executor, "hang" is never answered,
// "bad_task" is an
// error of the task. Everything else is ok.

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "runtime/sync.h"
#include "runtime/task_group.h"
#include "schedule/host_link.h"

namespace specgen {

class ScriptedHost final : public Host {
 public:
  ScriptedHost(Loop& loop, std::string name, std::vector<std::string> devices,
               std::size_t compile_slots = 2);
  ~ScriptedHost() override;

  std::string name() const override { return name_; }
  Task<Result<std::unique_ptr<HostLink>>> connect() override;

  void hang_up();  // closes the link; all its jobs are lost

  bool is_reachable = true;
  bool shares_memory = false;
  std::set<std::string> broken = {};  // devices on which everything fails, including canaries
  Duration compile_time = std::chrono::seconds(1);
  Duration validate_time = std::chrono::seconds(2);
  Duration profile_time = std::chrono::seconds(4);
  std::vector<std::string> log = {};               // "validate cpu:0 SOURCE", in order of arrival
  std::size_t count(std::string_view what) const;  // of log lines with this beginning
  int max_at_once = 0;                             // jobs on one device

 private:
  class Link;
  struct Connection;

  Task<void> serve(Connection& connection, std::string request);

  Loop& loop_;
  std::string name_;
  std::vector<std::string> devices_;
  std::size_t compile_slots_;
  std::map<std::string, int> running_;
  std::shared_ptr<Connection> connection_;
};

}  // namespace specgen
