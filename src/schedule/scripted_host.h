#pragma once
// For the tests of this room: an evaluation host inside the loop. A candidate's source says what becomes of it, by the
// words that stand in it: "wrong" fails its validation, "slow" takes a minute, "poison" takes the executor with it,
// "hang" is never answered, "bad_task" is the task's own fault. All else is ok.

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
               std::size_t lanes = 2);
  ~ScriptedHost() override;

  std::string name() const override { return name_; }
  Task<Result<std::unique_ptr<HostLink>>> connect() override;

  void hang_up();  // all its jobs are lost with the link

  bool is_reachable = true;
  bool lends = false;
  std::set<std::string> broken = {};  // devices on which everything fails, canaries too
  Duration compile_time = std::chrono::seconds(1);
  Duration validate_time = std::chrono::seconds(2);
  Duration profile_time = std::chrono::seconds(4);
  std::vector<std::string> log = {};               // "validate cpu:0 SOURCE", as they came
  std::size_t count(std::string_view what) const;  // of those that begin so
  int max_at_once = 0;                             // jobs on one device

 private:
  class Link;
  struct Connection;

  Task<void> serve(Connection& connection, std::string request);

  Loop& loop_;
  std::string name_;
  std::vector<std::string> devices_;
  std::size_t lanes_;
  std::map<std::string, int> running_;
  std::shared_ptr<Connection> connection_;
};

}  // namespace specgen
