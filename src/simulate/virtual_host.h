#pragma once
// An evaluation host inside the loop that implements the frames of docs/reference/node.md: compile slots,
// devices that run one
// job at a time in virtual time, and judges that know the truth about a kernel. It loses, repeats and corrupts
// answers as the faults of the simulation require.
//
// A host outlives the controllers that connect to it. A link belongs to its controller: destroying it ends
// everything that runs behind it, as closing the pipe of a real node does.

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "runtime/loop.h"
#include "schedule/host_link.h"
#include "schedule/job.h"
#include "simulate/faults.h"
#include "simulate/virtual_kernel.h"

namespace specgen {

struct ServiceTime {
  Duration median = std::chrono::seconds(1);
  double sigma = 0.3;  // of its logarithm
  Duration draw(Random& random) const;
};

struct HostSettings {
  std::int64_t devices = 5;  // per host
  std::int64_t compile_slots = 2;
  ServiceTime compile{.median = std::chrono::seconds(2)};
  ServiceTime validate{.median = std::chrono::seconds(4)};
  ServiceTime profile{.median = std::chrono::seconds(8)};
  ServiceTime tune{.median = std::chrono::seconds(20)};
  ServiceTime prepare{.median = std::chrono::seconds(3)};  // once per task and device
  Duration cancel = std::chrono::milliseconds(20);         // until the processes of a job are gone
  Duration connect = std::chrono::milliseconds(200);
  double screen_noise = 0.05;   // of the logarithm of the speedup of validate
  double profile_noise = 0.01;  // the same for profile
};

// Called with a violated invariant.
using Violation = std::function<void(std::string)>;

class VirtualLink;

class VirtualHost final : public Host {
 public:
  // All must outlive the host. `ceiling` is the speedup at the limit of the hardware.
  VirtualHost(Loop& loop, std::string name, const HostSettings& settings, double ceiling,
              Faults& faults, Random random, Violation violation);
  ~VirtualHost() override;

  std::string name() const override { return name_; }
  Task<Result<std::unique_ptr<HostLink>>> connect() override;

  // Faults. A crash ends every link and makes the host unreachable.
  void crash_until(Time back);
  void slow_down(std::size_t device, Time until, double factor);

  std::size_t devices() const { return devices_.size(); }
  Duration busy() const;  // of all devices so far

 private:
  friend class VirtualLink;

  struct Device {
    std::string name;
    std::size_t holders = 0;              // its current jobs
    std::set<std::string> prepared = {};  // tasks
    Time slow_until{};
    double slow_factor = 1;
    Duration busy{};
  };

  Device* find(std::string_view device);  // "cpu:3"; null: unknown

  Loop& loop_;
  std::string name_;
  HostSettings settings_;
  double ceiling_;
  Faults& faults_;
  Random random_;
  Violation violation_;
  std::vector<Device> devices_;
  std::vector<VirtualLink*> links_;
  Time away_until_{};
};

}  // namespace specgen
