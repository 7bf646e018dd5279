#include "evaluate/cuda/driver_api.h"

#include <fmt/core.h>

#include <array>

#include "evaluate/host/cuda_libraries.h"
#include "evaluate/host/dynamic_library.h"

namespace specgen {
namespace {

constexpr std::string_view kAdvice =
    "run `specgen doctor` to see what this host lacks; CUDA needs an NVIDIA GPU and its driver "
    "(12.4 or newer)";

Result<CudaDriver> open_library() {
  auto library = DynamicLibrary::open(cuda_driver_library_names());
  if (!library) {
    return fail(ErrorCode::device_missing,
                "the CUDA driver (libcuda.so.1) cannot be loaded: " + library.error().context,
                std::string(kAdvice));
  }
  CudaDriver driver;
  std::string missing;
#define SPECGEN_LOAD(member, symbol, ...)                 \
  driver.member = library->function<__VA_ARGS__>(symbol); \
  if (!driver.member && missing.empty()) missing = symbol;
  SPECGEN_CUDA_FUNCTIONS(SPECGEN_LOAD)
#undef SPECGEN_LOAD
  if (!missing.empty()) {
    return fail(ErrorCode::device_missing,
                fmt::format("the CUDA driver {} is too old: it has no {}", library->path().string(),
                            missing),
                std::string(kAdvice));
  }
  // The newer function has the full resolution of the device's clock and the same signature.
  if (auto* newer =
          library->function<CuResult(float*, CuEvent, CuEvent)>("cuEventElapsedTime_v2")) {
    driver.event_elapsed = newer;
  }
  driver.tensor_map_encode =
      library->function<std::remove_pointer_t<decltype(driver.tensor_map_encode)>>(
          "cuTensorMapEncodeTiled");
  return driver;
}

}  // namespace

Result<const CudaDriver*> CudaDriver::load() {
  // Once per process, never unloaded.
  static const Result<CudaDriver> loaded = open_library();
  if (!loaded) return std::unexpected(loaded.error());
  const CudaDriver& driver = *loaded;
  if (CuResult code = driver.init(0)) {
    return fail(ErrorCode::device_missing, "cuInit: " + driver.text(code), std::string(kAdvice));
  }
  return &driver;
}

std::string CudaDriver::name(CuResult code) const {
  const char* text = nullptr;
  if (get_error_name(code, &text) != kCudaOk || !text) return fmt::format("CUDA error {}", code);
  return text;
}

std::string CudaDriver::message(CuResult code) const {
  const char* text = nullptr;
  if (get_error_string(code, &text) != kCudaOk || !text) return "unknown error";
  return text;
}

std::string CudaDriver::text(CuResult code) const {
  return fmt::format("{} ({}): {}", name(code), code, message(code));
}

Result<void> CudaDriver::check(CuResult code, std::string_view doing) const {
  if (code == kCudaOk) return {};
  return fail(ErrorCode::device_failed, fmt::format("{}: {}", doing, text(code)));
}

std::string CudaDeviceFacts::architecture() const {
  // From Hopper on, the interesting instructions are only in the architecture-specific set.
  return fmt::format("sm_{}{}{}", major, minor, major >= 9 ? "a" : "");
}

Result<CudaDeviceFacts> ask_cuda_device(const CudaDriver& driver, int index) {
  int count = 0;
  TRY(driver.check(driver.device_get_count(&count), "cuDeviceGetCount"));
  if (index < 0 || index >= count) {
    return fail(
        ErrorCode::device_missing,
        fmt::format("cuda:{}: the driver reports {} GPU{}", index, count, count == 1 ? "" : "s"),
        "use a device that exists; CUDA_VISIBLE_DEVICES hides others");
  }
  CudaDeviceFacts facts{.index = index};
  TRY(driver.check(driver.device_get(&facts.handle, index), "cuDeviceGet"));
  std::array<char, 256> name{};
  TRY(driver.check(driver.device_get_name(name.data(), name.size() - 1, facts.handle),
                   "cuDeviceGetName"));
  facts.name = name.data();
  std::array<char, 64> bus{};
  TRY(driver.check(driver.device_get_bus(bus.data(), bus.size() - 1, facts.handle),
                   "cuDeviceGetPCIBusId"));
  facts.pci_bus_id = bus.data();
  TRY(driver.check(driver.device_total_mem(&facts.memory_bytes, facts.handle), "cuDeviceTotalMem"));

  using A = CuDeviceAttribute;
  auto ask = [&](A which) -> Result<int> {
    int value = 0;
    TRY(driver.check(driver.device_get_attribute(&value, which, facts.handle),
                     fmt::format("cuDeviceGetAttribute {}", static_cast<int>(which))));
    return value;
  };
  facts.major = TRY(ask(A::capability_major));
  facts.minor = TRY(ask(A::capability_minor));
  facts.multiprocessors = TRY(ask(A::multiprocessors));
  facts.threads_per_multiprocessor = TRY(ask(A::threads_per_multiprocessor));
  facts.l2_bytes = static_cast<std::size_t>(TRY(ask(A::l2_cache_bytes)));
  facts.threads_per_block = TRY(ask(A::threads_per_block));
  facts.block = {TRY(ask(A::block_x)), TRY(ask(A::block_y)), TRY(ask(A::block_z))};
  facts.grid = {TRY(ask(A::grid_x)), TRY(ask(A::grid_y)), TRY(ask(A::grid_z))};
  facts.shared_bytes = TRY(ask(A::shared_bytes_optin));
  if (TRY(ask(A::virtual_memory_management)) == 0 || TRY(ask(A::posix_descriptors)) == 0) {
    return fail(ErrorCode::device_missing,
                facts.name + ": its memory cannot be shared between processes",
                "use a GPU and driver with virtual memory management (data centre or desktop, "
                "Pascal or newer)");
  }
  CuAllocationProperties properties{.requested_handle_types = kCuPosixFileDescriptor,
                                    .location = {.id = facts.handle}};
  TRY(driver.check(driver.mem_granularity(&facts.granularity, &properties, 0),
                   "cuMemGetAllocationGranularity"));
  return facts;
}

}  // namespace specgen
