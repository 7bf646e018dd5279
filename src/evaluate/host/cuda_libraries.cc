#include "evaluate/host/cuda_libraries.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <optional>

#include "base/environment.h"
#include "base/file.h"
#include "base/text.h"
#include "evaluate/host/dynamic_library.h"

namespace specgen {
namespace fs = std::filesystem;
namespace {

// Signatures as the vendor documents them; handles are pointers, results are ints, 0 is success.
using CuInit = int(unsigned);
using CuDriverGetVersion = int(int*);
using CuDeviceGetCount = int(int*);
using CuDeviceGet = int(int*, int);
using CuDeviceGetName = int(char*, int, int);
using CuDeviceTotalMem = int(std::size_t*, int);
using CuDeviceGetAttribute = int(int*, int, int);
using CuGetErrorString = int(int, const char**);
constexpr int kMultiprocessorCount = 16;
constexpr int kCapabilityMajor = 75;
constexpr int kCapabilityMinor = 76;

using NvrtcVersion = int(int*, int*);
using NvrtcGetNumSupportedArchs = int(int*);
using NvrtcGetSupportedArchs = int(int*);
using NvrtcCreateProgram = int(void**, const char*, const char*, int, const char* const*,
                               const char* const*);
using NvrtcCompileProgram = int(void*, int, const char* const*);
using NvrtcGetSize = int(void*, std::size_t*);
using NvrtcGetText = int(void*, char*);
using NvrtcGetErrorString = const char*(int);

using NvmlCall = int();
using NvmlGetText = int(char*, unsigned);
using NvmlErrorString = const char*(int);

using CuptiGetVersion = int(std::uint32_t*);

// The user's own toolkit first, then the system's loader, then the usual places.
std::vector<std::string> candidates(std::span<const std::string_view> names,
                                    std::span<const std::string_view> subfolders,
                                    std::span<const std::string_view> more_folders) {
  std::vector<std::string> all;
  auto add = [&](const fs::path& folder) {
    for (std::string_view name : names) all.push_back((folder / name).string());
  };
  std::vector<std::string> toolkits = cuda_toolkit_folders();
  for (std::size_t i = 0; i + 1 < toolkits.size(); ++i) {
    for (std::string_view subfolder : subfolders) add(fs::path(toolkits[i]) / subfolder);
  }
  add({});
  for (std::string_view subfolder : subfolders) add(fs::path(toolkits.back()) / subfolder);
  for (std::string_view folder : more_folders) add(folder);
  return all;
}

constexpr std::array<std::string_view, 3> kLibraryFolders{"lib64", "targets/x86_64-linux/lib",
                                                          "lib"};
// Where containers and WSL put the driver's own libraries.
constexpr std::array<std::string_view, 2> kDriverFolders{"/usr/local/nvidia/lib64",
                                                         "/usr/lib/wsl/lib"};

std::optional<DynamicLibrary> load(std::span<const std::string> names, Component& into) {
  auto library = DynamicLibrary::open(names);
  if (!library) {
    into.found = library.error().code != ErrorCode::tool_missing;
    into.problem = into.found ? library.error().context : "not on this host";
    return std::nullopt;
  }
  into.found = true;
  into.path = library->path().string();
  return *library;
}

// The problem, if the function that the library must have is missing.
template <class Signature>
Signature* need(const DynamicLibrary& library, const char* name, Component& into) {
  auto* function = library.function<Signature>(name);
  if (!function && into.problem.empty()) into.problem = fmt::format("has no {}", name);
  return function;
}

std::string compile_log(const DynamicLibrary& library, void* program) {
  auto* log_size = library.function<NvrtcGetSize>("nvrtcGetProgramLogSize");
  auto* get_log = library.function<NvrtcGetText>("nvrtcGetProgramLog");
  std::size_t size = 0;
  if (!log_size || !get_log || log_size(program, &size) != 0 || size < 2) return {};
  std::string log(size, '\0');
  if (get_log(program, log.data()) != 0) return {};
  return std::string(trim(first_line(trim(std::string_view(log).substr(0, size - 1)))));
}

// Compiles one line to machine code for sm_90; an empty answer means that it works.
std::string try_compile(const DynamicLibrary& library) {
  Component missing;
  auto* create = need<NvrtcCreateProgram>(library, "nvrtcCreateProgram", missing);
  auto* compile = need<NvrtcCompileProgram>(library, "nvrtcCompileProgram", missing);
  auto* cubin_size = need<NvrtcGetSize>(library, "nvrtcGetCUBINSize", missing);
  auto* get_cubin = need<NvrtcGetText>(library, "nvrtcGetCUBIN", missing);
  auto* error_text = need<NvrtcGetErrorString>(library, "nvrtcGetErrorString", missing);
  if (!missing.problem.empty()) return missing.problem;

  constexpr const char* kSource = "__global__ void probe(float* x) { x[threadIdx.x] = 1; }\n";
  void* program = nullptr;
  if (int error = create(&program, kSource, "probe.cu", 0, nullptr, nullptr)) {
    return error_text(error);
  }
  std::array options{"--gpu-architecture=sm_90"};
  if (int error = compile(program, options.size(), options.data())) {
    std::string log = compile_log(library, program);
    return fmt::format("does not compile for sm_90: {}", log.empty() ? error_text(error) : log);
  }
  std::size_t size = 0;
  if (int error = cubin_size(program, &size)) return error_text(error);
  std::string cubin(size, '\0');
  if (int error = get_cubin(program, cubin.data())) return error_text(error);
  return cubin.starts_with(
             "\x7f"
             "ELF")
             ? ""
             : "gives no machine code";
}

}  // namespace

std::vector<std::string> cuda_toolkit_folders() {
  std::vector<std::string> all;
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"}) {
    if (auto folder = environment_variable(name); folder && !folder->empty()) {
      all.push_back(std::move(*folder));
    }
  }
  all.emplace_back("/usr/local/cuda");
  return all;
}

bool compiles_for(const CudaReport& cuda, const Gpu& gpu) {
  const std::vector<int>& known = cuda.architectures;
  return cuda.nvrtc.works &&
         (known.empty() || std::ranges::find(known, gpu.architecture()) != known.end());
}

std::string cuda_version_text(int number) {
  return fmt::format("{}.{}", number / 1000, number % 1000 / 10);
}

std::vector<std::string> cuda_driver_library_names() {
  constexpr std::array<std::string_view, 1> kNames{"libcuda.so.1"};
  return candidates(kNames, {}, kDriverFolders);
}

std::vector<std::string> nvrtc_library_names() {
  constexpr std::array<std::string_view, 3> kNames{"libnvrtc.so.13", "libnvrtc.so.12",
                                                   "libnvrtc.so"};
  return candidates(kNames, kLibraryFolders, {});
}

std::vector<std::string> nvml_library_names() {
  constexpr std::array<std::string_view, 1> kNames{"libnvidia-ml.so.1"};
  return candidates(kNames, {}, kDriverFolders);
}

void try_driver(CudaReport& into) {
  auto library = load(cuda_driver_library_names(), into.driver);
  if (!library) return;
  auto* init = need<CuInit>(*library, "cuInit", into.driver);
  auto* version = need<CuDriverGetVersion>(*library, "cuDriverGetVersion", into.driver);
  auto* count = need<CuDeviceGetCount>(*library, "cuDeviceGetCount", into.driver);
  auto* device = need<CuDeviceGet>(*library, "cuDeviceGet", into.driver);
  auto* name = need<CuDeviceGetName>(*library, "cuDeviceGetName", into.driver);
  auto* memory = need<CuDeviceTotalMem>(*library, "cuDeviceTotalMem_v2", into.driver);
  auto* attribute = need<CuDeviceGetAttribute>(*library, "cuDeviceGetAttribute", into.driver);
  auto* error_text = need<CuGetErrorString>(*library, "cuGetErrorString", into.driver);
  if (!into.driver.problem.empty()) return;

  int number = 0;
  if (version(&number) == 0) into.driver.version = cuda_version_text(number);
  int gpus = 0;
  int error = init(0);
  if (error == 0) error = count(&gpus);
  if (error != 0) {
    const char* text_of_error = nullptr;
    error_text(error, &text_of_error);
    into.driver.problem =
        fmt::format("error {}: {}", error, text_of_error ? text_of_error : "unknown");
    return;
  }
  into.driver.works = true;
  for (int i = 0; i < gpus; ++i) {
    int handle = 0;
    std::size_t bytes = 0;
    std::array<char, 256> text{};
    Gpu gpu{.index = i};
    bool is_known = device(&handle, i) == 0 && name(text.data(), text.size() - 1, handle) == 0 &&
                    memory(&bytes, handle) == 0 &&
                    attribute(&gpu.capability_major, kCapabilityMajor, handle) == 0 &&
                    attribute(&gpu.capability_minor, kCapabilityMinor, handle) == 0 &&
                    attribute(&gpu.multiprocessors, kMultiprocessorCount, handle) == 0;
    if (!is_known) {
      into.driver.problem = fmt::format("GPU {} does not answer", i);
      continue;
    }
    gpu.name = text.data();
    gpu.memory = Bytes{bytes};
    into.gpus.push_back(std::move(gpu));
  }
}

void try_nvrtc(CudaReport& into) {
  auto library = load(nvrtc_library_names(), into.nvrtc);
  if (!library) return;
  auto* version = need<NvrtcVersion>(*library, "nvrtcVersion", into.nvrtc);
  int major = 0, minor = 0;
  if (version && version(&major, &minor) == 0) {
    into.nvrtc.version = fmt::format("{}.{}", major, minor);
  }
  auto* arch_count = library->function<NvrtcGetNumSupportedArchs>("nvrtcGetNumSupportedArchs");
  auto* archs = library->function<NvrtcGetSupportedArchs>("nvrtcGetSupportedArchs");
  int count = 0;
  if (arch_count && archs && arch_count(&count) == 0 && count > 0) {
    into.architectures.resize(static_cast<std::size_t>(count));
    if (archs(into.architectures.data()) != 0) into.architectures.clear();
  }
  if (into.nvrtc.problem.empty()) into.nvrtc.problem = try_compile(*library);
  into.nvrtc.works = into.nvrtc.problem.empty();
}

void try_nvml(CudaReport& into) {
  auto library = load(nvml_library_names(), into.nvml);
  if (!library) return;
  auto* init = need<NvmlCall>(*library, "nvmlInit_v2", into.nvml);
  auto* version = need<NvmlGetText>(*library, "nvmlSystemGetDriverVersion", into.nvml);
  auto* error_text = need<NvmlErrorString>(*library, "nvmlErrorString", into.nvml);
  if (!into.nvml.problem.empty()) return;
  std::array<char, 96> text{};
  int error = init();
  if (error == 0) error = version(text.data(), text.size() - 1);
  into.nvml.works = error == 0;
  if (into.nvml.works) {
    into.nvml.version = text.data();
  } else {
    into.nvml.problem = fmt::format("error {}: {}", error, error_text(error));
  }
}

void try_cupti(CudaReport& into) {
  constexpr std::array<std::string_view, 3> kNames{"libcupti.so.13", "libcupti.so.12",
                                                   "libcupti.so"};
  constexpr std::array<std::string_view, 4> kFolders{"extras/CUPTI/lib64", "lib64",
                                                     "targets/x86_64-linux/lib", "lib"};
  auto library = load(candidates(kNames, kFolders, {}), into.cupti);
  if (!library) return;
  auto* version = need<CuptiGetVersion>(*library, "cuptiGetVersion", into.cupti);
  if (!version) return;
  std::uint32_t number = 0;
  int error = version(&number);
  into.cupti.works = error == 0;
  if (into.cupti.works) into.cupti.version = fmt::format("API {}", number);
  if (error != 0) into.cupti.problem = fmt::format("error {}", error);
}

std::string kernel_driver_version(std::string_view text) {
  auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  for (std::string_view word : split(first_line(text), ' ')) {
    std::size_t dot = word.find('.');
    if (dot == std::string_view::npos || dot == 0 || dot + 1 == word.size()) continue;
    if (std::ranges::all_of(word, [&](char c) { return is_digit(c) || c == '.'; })) {
      return std::string(word);
    }
  }
  return {};
}

bool nvidia_gpu_on_bus() {
  std::error_code error;
  for (const auto& device : fs::directory_iterator("/sys/bus/pci/devices", error)) {
    auto vendor = read_file(device.path() / "vendor");
    auto kind = read_file(device.path() / "class");
    // 0x03: display controllers, among them the compute-only ones.
    if (vendor && kind && vendor->starts_with("0x10de") && kind->starts_with("0x03")) return true;
  }
  return false;
}

}  // namespace specgen
