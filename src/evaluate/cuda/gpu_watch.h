#pragma once
// The current clock of a GPU, and whether it is throttled, as NVML reports it. Two programs are
// compared only if both ran at the same pace: heat, or another GPU in the same chassis, must not
// decide between them. Reads only. Without NVML every pace is unknown, and unknown paces count as
// the same.

#include <string>

namespace specgen {

struct GpuPace {
  unsigned sm_mhz = 0;  // of its multiprocessors; 0: not known
  // Throttled by heat or by the power supply. A configured power limit is normal and does not
  // count.
  bool is_throttled = false;
};

// Whether programs that were timed at these paces can be compared.
bool is_same_pace(const GpuPace& one, const GpuPace& other);

class GpuWatch {
 public:
  static GpuWatch open(const std::string& pci_bus_id);  // as the driver writes it: "0000:17:00.0"

  bool is_open() const { return device_ != nullptr; }
  GpuPace read() const;

 private:
  using GetClock = int(void*, int, unsigned*);
  using GetReasons = int(void*, unsigned long long*);

  GpuWatch() = default;

  void* device_ = nullptr;  // NVML's handle
  GetClock* get_clock_ = nullptr;
  GetReasons* get_reasons_ = nullptr;  // null: not supported by this driver
};

}  // namespace specgen
