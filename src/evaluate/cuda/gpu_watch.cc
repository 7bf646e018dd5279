#include "evaluate/cuda/gpu_watch.h"

#include <algorithm>

#include "evaluate/host/cuda_libraries.h"
#include "evaluate/host/dynamic_library.h"

namespace specgen {
namespace {

// Signatures and numbers as NVML documents them; 0 is success.
using Init = int();
using GetHandle = int(const char*, void**);
constexpr int kClockOfMultiprocessors = 1;
constexpr unsigned long long kHardwareSlowdown = 0x08;
constexpr unsigned long long kSoftwareThermal = 0x20;
constexpr unsigned long long kHardwareThermal = 0x40;
constexpr unsigned long long kPowerBrake = 0x80;
constexpr unsigned long long kHeldBack =
    kHardwareSlowdown | kSoftwareThermal | kHardwareThermal | kPowerBrake;

// Clocks change in steps of 15 MHz, and a busy GPU at its power limit changes them all the time.
constexpr double kMaxDifference = 0.05;

}  // namespace

bool is_same_pace(const GpuPace& one, const GpuPace& other) {
  if (one.is_throttled || other.is_throttled) return false;
  if (one.sm_mhz == 0 || other.sm_mhz == 0) return true;
  auto [slower, faster] = std::minmax(one.sm_mhz, other.sm_mhz);
  return static_cast<double>(faster - slower) <= kMaxDifference * faster;
}

GpuWatch GpuWatch::open(const std::string& pci_bus_id) {
  GpuWatch watch;
  auto library = DynamicLibrary::open(nvml_library_names());
  if (!library) return watch;
  auto* init = library->function<Init>("nvmlInit_v2");
  auto* get_handle = library->function<GetHandle>("nvmlDeviceGetHandleByPciBusId_v2");
  watch.get_clock_ = library->function<GetClock>("nvmlDeviceGetClockInfo");
  watch.get_reasons_ = library->function<GetReasons>("nvmlDeviceGetCurrentClocksEventReasons");
  if (!watch.get_reasons_) {  // its name until driver 535
    watch.get_reasons_ = library->function<GetReasons>("nvmlDeviceGetCurrentClocksThrottleReasons");
  }
  if (!init || !get_handle || !watch.get_clock_ || init() != 0) return watch;
  if (get_handle(pci_bus_id.c_str(), &watch.device_) != 0) watch.device_ = nullptr;
  return watch;
}

GpuPace GpuWatch::read() const {
  GpuPace pace;
  if (!device_) return pace;
  if (get_clock_(device_, kClockOfMultiprocessors, &pace.sm_mhz) != 0) pace.sm_mhz = 0;
  unsigned long long reasons = 0;
  if (get_reasons_ && get_reasons_(device_, &reasons) == 0) {
    pace.is_throttled = (reasons & kHeldBack) != 0;
  }
  return pace;
}

}  // namespace specgen
