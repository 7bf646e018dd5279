#pragma once
// NVIDIA's libraries on this host, each proven by a call that does something: the driver counts its
// GPUs, NVRTC compiles a kernel for sm_90 (which needs no GPU). No context is created on any
// device.
//
// A vendor library can hang or crash. The try_ functions therefore belong into a process that may
// be lost: internal_probe.h calls them there, and probe_cuda() in the process that asks.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "evaluate/host/component.h"

namespace specgen {

struct Gpu {
  int index = 0;  // as the driver counts
  std::string name = {};
  int capability_major = 0;
  int capability_minor = 0;
  Bytes memory = {};
  int multiprocessors = 0;

  int architecture() const { return 10 * capability_major + capability_minor; }  // 90 for sm_90
};

struct CudaReport {
  Component driver{.name = "libcuda"};
  std::vector<Gpu> gpus;
  Component nvrtc{.name = "libnvrtc"};
  std::vector<int> architectures;  // that NVRTC compiles for: 75, 80, 90...
  Component nvml{.name = "libnvidia-ml"};
  Component cupti{.name = "libcupti"};
  std::string kernel_driver;  // version of the kernel's module, "580.95.05"; empty if not loaded
  std::optional<std::string> visible_devices;  // CUDA_VISIBLE_DEVICES, which hides all others
  bool gpu_on_bus = false;  // an NVIDIA display device is plugged in, whatever else is missing
};

// Whether NVRTC can compile for this GPU; an NVRTC too old to tell is given the benefit of the
// doubt.
bool compiles_for(const CudaReport& cuda, const Gpu& gpu);

void try_driver(CudaReport& into);
void try_nvrtc(CudaReport& into);
void try_nvml(CudaReport& into);
void try_cupti(CudaReport& into);

// Where the toolkit may lie: CUDA_HOME and CUDA_PATH, then /usr/local/cuda. Empty entries are left
// out.
std::vector<std::string> cuda_toolkit_folders();

// What the libraries may be called, for DynamicLibrary::open(): the user's own toolkit first.
std::vector<std::string> cuda_driver_library_names();
std::vector<std::string> nvrtc_library_names();
std::vector<std::string> nvml_library_names();

// 13000 is "13.0", 12040 is "12.4": how CUDA writes versions as numbers.
std::string cuda_version_text(int number);

// From /proc/driver/nvidia/version.
std::string kernel_driver_version(std::string_view text);
bool nvidia_gpu_on_bus();

}  // namespace specgen
