#pragma once
// The two programs of an executor, in its process, with their launches prepared for every set:
// parameters packed, descriptors made, attributes set, so that a call consists of launches only.

#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "evaluate/candidate/launch_plan.h"
#include "evaluate/cuda/driver_api.h"
#include "evaluate/cuda/executor_memory.h"
#include "evaluate/cuda/executor_protocol.h"
#include "evaluate/cuda/parameter_packing.h"

namespace specgen {

struct PreparedLaunch {
  std::string name;  // as in the launch line
  CuFunction function = nullptr;
  CuLaunchConfig config;
  std::vector<CuLaunchAttribute> attributes;
  std::vector<std::byte> bytes;
  std::vector<void*> parameters;  // into bytes
};

struct PreparedCall {
  struct Zero {
    CuAddress address = 0;
    std::size_t bytes = 0;
  };
  std::vector<Zero> zeros;  // before the launches, and timed with them
  std::vector<PreparedLaunch> launches;
  std::size_t operations() const { return zeros.size() + launches.size(); }
};

class ExecutorPrograms {
 public:
  explicit ExecutorPrograms(const CudaDriver& driver) : driver_(driver) {}

  // Tools, baseline (empty: it runs elsewhere), candidate. The answer says which program could not
  // be loaded. After lay_out(), when a program may have run, no other can be loaded.
  ExecutorAnswer load(const std::array<std::string, 3>& cubins);
  ExecutorAnswer lay_out(const LayOutRequest& request, const ExecutorMemory& memory,
                         CuStream stream);
  ExecutorAnswer describe(const DescribeRequest& request);
  void clear();

  const PreparedCall* call(Who who, std::size_t set) const;  // null if there is none
  CuFunction tool(const char* name) const;                   // null if there is none

 private:
  struct Problem {  // rejected, a fault, or broken
    ExecutorAnswer answer;
  };
  template <class T>
  using Prepared = std::expected<T, Problem>;

  Prepared<PreparedCall> prepare(Who who, const LaunchPlan& plan, const LayOutRequest& request,
                                 std::size_t set, const ExecutorMemory& memory, CuStream stream);
  Prepared<CuFunction> function(Who who, const std::string& mangled, const PlannedLaunch& launch);
  Prepared<std::vector<KernelParameter>> parameters(Who who, CuFunction function,
                                                    const std::string& name);
  Prepared<TensormapValue> tensormap(Who who, const PlannedTensormap& map, CuAddress address);
  Problem rejected(Who who, std::string reason) const;
  Problem fault(Who who, CuResult code, std::string doing) const;
  Problem broken(std::string what) const;

  const CudaDriver& driver_;
  void unload();

  bool laid_out_ = false;
  CuModule tools_ = nullptr;
  std::array<CuModule, kPrograms> modules_{};
  std::array<std::vector<PreparedCall>, kPrograms> calls_;  // per set
};

}  // namespace specgen
