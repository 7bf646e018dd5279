#pragma once
// One connection to a virtual host, with the state of its node process. Private to simulate.

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_set>

#include "base/json.h"
#include "runtime/sync.h"
#include "runtime/task_group.h"
#include "simulate/virtual_host.h"

namespace specgen {

class VirtualLink final : public HostLink {
 public:
  explicit VirtualLink(VirtualHost& host);
  ~VirtualLink() override;

  Result<void> send(Json frame) override;
  Task<Result<std::optional<Json>>> receive() override;

  void crash();  // of the host

 private:
  class Hold;  // of a device, by one job
  struct Job;

  Task<void> run_job(Json request, std::string id, std::shared_ptr<Job> job);
  Task<Result<Json>> perform(const Json& request);
  Task<Result<Json>> compile(const Json& request);
  Task<Result<Json>> on_device(std::string kind, const Json& request);
  Result<Json> judged(const std::string& kind, KernelTruth truth);
  Json found_ok(const std::string& kind, const KernelTruth& truth);
  void answer(Json frame);
  void send_frame(Json frame);
  void store(const std::string& program);

  VirtualHost& host_;
  Loop& loop_;
  std::int64_t epoch_ = 0;
  bool broken_ = false;
  Semaphore compile_slots_;
  std::map<std::string, std::shared_ptr<Job>, std::less<>> jobs_;
  std::unordered_set<std::string> programs_;
  std::deque<std::string> program_order_;
  Channel<Json> outbox_;
  TaskGroup work_;  // last: its tasks use the members above
};

}  // namespace specgen
