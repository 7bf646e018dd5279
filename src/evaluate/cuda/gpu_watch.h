#pragma once
// How fast a GPU runs at a moment, and whether something holds it back, as NVML tells it. Two programs are compared
// only where both ran at the same pace: heat, or a neighbour in the same chassis, must not decide between them. It
// only reads. Without NVML nothing is known, and no fault is found.

#include <string>

namespace specgen {

struct GpuPace {
  unsigned sm_mhz = 0;  // of its multiprocessors; 0: not known
  bool is_held_back =
      false;  // by heat or by the power supply; a limit of power that is set is everyday life
};

// Whether programs that were timed at these paces can be compared.
bool is_same_pace(const GpuPace& one, const GpuPace& other);

class GpuWatch {
 public:
  static GpuWatch open(const std::string& pci_bus_id);  // as the driver writes it: "0000:17:00.0"

  bool is_open() const { return device_ != nullptr; }
  GpuPace look() const;

 private:
  using GetClock = int(void*, int, unsigned*);
  using GetReasons = int(void*, unsigned long long*);

  GpuWatch() = default;

  void* device_ = nullptr;  // NVML's handle
  GetClock* get_clock_ = nullptr;
  GetReasons* get_reasons_ = nullptr;  // null: this driver does not tell
};

}  // namespace specgen
