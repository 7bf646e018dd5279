#pragma once
// A device that candidates run on: a set of CPU cores or a GPU. The judge's flow (judge.cc, validate.cc,
// profile.cc) is the same for every backend; a backend implements Toolchain, TestRig (test_rig.h), Device and
// ReadyPool. One judge process owns one device and uses it from its loop.

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "base/units.h"
#include "evaluate/judge/test_rig.h"
#include "evaluate/task/cases.h"
#include "runtime/task.h"

namespace specgen {

// The highest rates of a device, measured once and cached. No timing can be faster than they allow.
struct Ceilings {
  double memory_bytes_per_second = 0;
  double cache_bytes_per_second = 0;               // from the last cache before memory
  double cache_bytes = 0;                          // its capacity
  double near_cache_bytes_per_second = 0;          // from the fastest cache; 0: not modelled
  double near_cache_bytes = 0;                     // its capacity
  std::map<std::string, double> flops_per_second;  // by rate: f32, f64, tf32, f16, bf16
  double launch_seconds = 0;                       // of an empty kernel
};
Json to_json(const Ceilings& ceilings);
Result<Ceilings> ceilings_from_json(const Json& json);

// Does not change while a device is open.
struct DeviceInfo {
  std::string id;    // "cpu:0", "cuda:0"
  std::string name;  // the model, for people and as a cache key
  Backend backend = Backend::cpu;
  std::vector<std::string> lock_names;  // see device_lock.h
  std::vector<int> judge_cores;         // the cores on which no candidate runs
  // How many fresh processes confirm a timing. More than one where the placement of memory differs
  // from process to process and changes the speed.
  std::size_t confirmations = 1;
  bool facts_disturb_timing = true;  // whether facts() must not run while something is timed
};

// Processes and memory started before they are needed, so that a candidate does not wait for them.
// The calls are hints: what is not ready is made when it is needed.
class ReadyPool {
 public:
  virtual ~ReadyPool() = default;
  virtual std::size_t capacity() const = 0;  // rigs kept ready at most
  virtual std::size_t size() const = 0;      // rigs that are ready now
  // Whether starting a rig is cheaper than a compilation and does not disturb the device: then it is
  // done during every compilation.
  virtual bool can_start_while_compiling() const { return false; }
  // If fewer than `min` rigs are ready, starts some until there are `target`. Call it between jobs or
  // during a compilation, when nothing is timed and, unless can_start_while_compiling(), the device is locked.
  virtual Result<void> replenish(std::size_t min, std::size_t target) = 0;
  // One small step of preparing memory for the next timing; false when there is enough.
  virtual bool prepare_memory() { return false; }
  // Waits until what was started no longer disturbs a timing.
  virtual Task<Result<void>> settle() = 0;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceInfo& info() const = 0;
  virtual Toolchain& toolchain() = 0;
  // A rig in fresh processes for one candidate. `source` outlives the rig.
  virtual Task<Result<std::unique_ptr<TestRig>>> open_rig(const KernelTask& task,
                                                          const Program& candidate,
                                                          const Program& baseline,
                                                          InputSource& source,
                                                          TestRigLimits limits) = 0;
  virtual Task<Result<Ceilings>> measure_ceilings() = 0;
  // How many sets of tensors of this size make every call find cold caches, within the device's memory.
  virtual std::size_t sets_for(Bytes footprint) const = 0;
  // What is known about a program besides its timing: registers, instruction mix, counters. Part of the
  // profile (docs/reference/json.md). Counters are taken on the case `at`.
  virtual Task<Result<Json>> facts(const KernelTask& task, const Program& program,
                                   const Case& at) = 0;
  // Runs a known kernel in a fresh process: does the device still work? Rigs do this themselves after a crash.
  virtual Task<Result<void>> check_health() = 0;
  virtual ReadyPool& ready_pool() = 0;
};

}  // namespace specgen
