#pragma once
// NVIDIA's libraries on this host, each tested by a call with an effect: the driver counts its
// GPUs, NVRTC compiles a kernel for sm_90 (which needs no GPU). No context is created on any
// device.
//
// A vendor library can hang or crash, so the try_ functions run in a child process (internal_probe.h); probe_cuda() is
// called in the parent.

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
  std::optional<std::string> visible_devices;  // CUDA_VISIBLE_DEVICES; other GPUs are hidden
  bool gpu_on_bus = false;                     // an NVIDIA device is on the PCI bus
};

// Whether NVRTC can compile for this GPU; assumed for an NVRTC too old to report it.
bool compiles_for(const CudaReport& cuda, const Gpu& gpu);

void try_driver(CudaReport& into);
void try_nvrtc(CudaReport& into);
void try_nvml(CudaReport& into);
void try_cupti(CudaReport& into);

// Where the toolkit may be: CUDA_HOME and CUDA_PATH, then /usr/local/cuda. Empty entries are left
// out.
std::vector<std::string> cuda_toolkit_folders();

// Candidate names of the libraries for DynamicLibrary::open(): the user's own toolkit first.
std::vector<std::string> cuda_driver_library_names();
std::vector<std::string> nvrtc_library_names();
std::vector<std::string> nvml_library_names();

// 13000 is "13.0", 12040 is "12.4": how CUDA writes versions as numbers.
std::string cuda_version_text(int number);

// From /proc/driver/nvidia/version.
std::string kernel_driver_version(std::string_view text);
bool nvidia_gpu_on_bus();

}  // namespace specgen
