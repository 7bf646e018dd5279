#pragma once
// The CUDA driver: libcuda, loaded at run time if it is installed, without the vendor's headers.
// Types have the driver's ABI (cuda.h of CUDA 12.4 to 13). Every function is named after the symbol
// it is loaded from, so that the vendor's documentation applies.
//
// One CudaDriver per process, loaded once and kept: unloading it crashes. Calls return the driver's
// own numbers; check() turns them into Errors that name the operation.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/error.h"

namespace specgen {

using CuResult = int;
using CuAddress = std::uint64_t;       // CUdeviceptr
using CuMemoryHandle = std::uint64_t;  // CUmemGenericAllocationHandle
using CuContext = struct CuContextOpaque*;
using CuModule = struct CuModuleOpaque*;
using CuFunction = struct CuFunctionOpaque*;
using CuStream = struct CuStreamOpaque*;
using CuEvent = struct CuEventOpaque*;

inline constexpr CuResult kCudaOk = 0;
inline constexpr CuResult kCudaInvalidValue = 1;
inline constexpr CuResult kCudaOutOfMemory = 2;
inline constexpr CuResult kCudaNoDevice = 100;
inline constexpr CuResult kCudaIllegalAddress = 700;
inline constexpr CuResult kCudaLaunchOutOfResources = 701;
inline constexpr CuResult kCudaLaunchTimeout = 702;
inline constexpr CuResult kCudaAssert = 710;
inline constexpr CuResult kCudaHardwareStackError = 714;
inline constexpr CuResult kCudaIllegalInstruction = 715;
inline constexpr CuResult kCudaMisalignedAddress = 716;
inline constexpr CuResult kCudaInvalidAddressSpace = 717;
inline constexpr CuResult kCudaInvalidProgramCounter = 718;
inline constexpr CuResult kCudaLaunchFailed = 719;
inline constexpr CuResult kCudaTensorMemoryLeak = 721;

struct CuLocation {
  int type = 1;  // CU_MEM_LOCATION_TYPE_DEVICE
  int id = 0;
};
struct CuAllocationProperties {
  int type = 1;  // CU_MEM_ALLOCATION_TYPE_PINNED
  int requested_handle_types = 0;
  CuLocation location;
  void* windows_only = nullptr;
  unsigned char compression = 0;
  unsigned char gpu_direct_rdma = 0;
  unsigned short usage = 0;
  std::array<unsigned char, 4> reserved{};
};
static_assert(sizeof(CuAllocationProperties) == 32);
inline constexpr int kCuPosixFileDescriptor = 1;  // CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR

struct CuAccess {
  CuLocation location;
  int flags = 0;
};
static_assert(sizeof(CuAccess) == 12);
inline constexpr int kCuRead = 1;       // CU_MEM_ACCESS_FLAGS_PROT_READ
inline constexpr int kCuReadWrite = 3;  // CU_MEM_ACCESS_FLAGS_PROT_READWRITE

struct CuLaunchAttribute {
  int id = 0;
  std::array<char, 4> pad{};
  union Value {
    std::array<char, 64> bytes;
    int cooperative;
    struct {
      unsigned x, y, z;
    } cluster;
    void* aligned;  // the vendor's union holds pointers
  } value{};
};
static_assert(sizeof(CuLaunchAttribute) == 72 && alignof(CuLaunchAttribute) == 8);
inline constexpr int kCuAttributeCooperative = 2;
inline constexpr int kCuAttributeCluster = 4;

struct CuLaunchConfig {
  std::array<unsigned, 3> grid{1, 1, 1};
  std::array<unsigned, 3> block{1, 1, 1};
  unsigned shared_bytes = 0;
  CuStream stream = nullptr;
  CuLaunchAttribute* attributes = nullptr;
  unsigned attribute_count = 0;
};
static_assert(sizeof(CuLaunchConfig) == 56 && offsetof(CuLaunchConfig, stream) == 32);

struct alignas(128) CuTensorMap {
  std::array<std::uint64_t, 16> opaque{};
};
static_assert(sizeof(CuTensorMap) == 128);

// CUdevice_attribute
enum class CuDeviceAttribute : int {
  threads_per_block = 1,
  block_x = 2,
  block_y = 3,
  block_z = 4,
  grid_x = 5,
  grid_y = 6,
  grid_z = 7,
  multiprocessors = 16,
  l2_cache_bytes = 38,
  threads_per_multiprocessor = 39,
  capability_major = 75,
  capability_minor = 76,
  shared_bytes_optin = 97,
  virtual_memory_management = 102,
  posix_descriptors = 103,
};

// CUfunction_attribute
enum class CuFunctionAttribute : int {
  threads_per_block = 0,
  static_shared_bytes = 1,
  local_bytes = 3,
  registers = 4,
  dynamic_shared_bytes = 8,
  non_portable_cluster = 14,
};

inline constexpr unsigned kCuScheduleSpin = 1;
inline constexpr unsigned kCuScheduleBlocking = 4;
inline constexpr int kCuLimitPersistingL2 = 6;
inline constexpr unsigned kCuStreamNonBlocking = 1;
inline constexpr unsigned kCuHostMapped = 2;  // CU_MEMHOSTALLOC_DEVICEMAP

// X(member, symbol, signature)
#define SPECGEN_CUDA_FUNCTIONS(X)                                                                  \
  X(get_error_name, "cuGetErrorName", CuResult(CuResult, const char**))                            \
  X(get_error_string, "cuGetErrorString", CuResult(CuResult, const char**))                        \
  X(init, "cuInit", CuResult(unsigned))                                                            \
  X(driver_get_version, "cuDriverGetVersion", CuResult(int*))                                      \
  X(device_get_count, "cuDeviceGetCount", CuResult(int*))                                          \
  X(device_get, "cuDeviceGet", CuResult(int*, int))                                                \
  X(device_get_name, "cuDeviceGetName", CuResult(char*, int, int))                                 \
  X(device_get_bus, "cuDeviceGetPCIBusId", CuResult(char*, int, int))                              \
  X(device_total_mem, "cuDeviceTotalMem_v2", CuResult(std::size_t*, int))                          \
  X(device_get_attribute, "cuDeviceGetAttribute", CuResult(int*, CuDeviceAttribute, int))          \
  X(primary_set_flags, "cuDevicePrimaryCtxSetFlags_v2", CuResult(int, unsigned))                   \
  X(primary_retain, "cuDevicePrimaryCtxRetain", CuResult(CuContext*, int))                         \
  X(primary_release, "cuDevicePrimaryCtxRelease_v2", CuResult(int))                                \
  X(ctx_set_current, "cuCtxSetCurrent", CuResult(CuContext))                                       \
  X(ctx_set_limit, "cuCtxSetLimit", CuResult(int, std::size_t))                                    \
  X(ctx_reset_persisting_l2, "cuCtxResetPersistingL2Cache", CuResult())                            \
  X(module_load_data, "cuModuleLoadData", CuResult(CuModule*, const void*))                        \
  X(module_unload, "cuModuleUnload", CuResult(CuModule))                                           \
  X(module_get_function, "cuModuleGetFunction", CuResult(CuFunction*, CuModule, const char*))      \
  X(func_get_attribute, "cuFuncGetAttribute", CuResult(int*, CuFunctionAttribute, CuFunction))     \
  X(func_set_attribute, "cuFuncSetAttribute", CuResult(CuFunction, CuFunctionAttribute, int))      \
  X(func_get_param_info, "cuFuncGetParamInfo",                                                     \
    CuResult(CuFunction, std::size_t, std::size_t*, std::size_t*))                                 \
  X(occupancy, "cuOccupancyMaxActiveBlocksPerMultiprocessor",                                      \
    CuResult(int*, CuFunction, int, std::size_t))                                                  \
  X(launch_kernel_ex, "cuLaunchKernelEx",                                                          \
    CuResult(const CuLaunchConfig*, CuFunction, void**, void**))                                   \
  X(mem_granularity, "cuMemGetAllocationGranularity",                                              \
    CuResult(std::size_t*, const CuAllocationProperties*, int))                                    \
  X(mem_create, "cuMemCreate",                                                                     \
    CuResult(CuMemoryHandle*, std::size_t, const CuAllocationProperties*, unsigned long long))     \
  X(mem_release, "cuMemRelease", CuResult(CuMemoryHandle))                                         \
  X(mem_address_reserve, "cuMemAddressReserve",                                                    \
    CuResult(CuAddress*, std::size_t, std::size_t, CuAddress, unsigned long long))                 \
  X(mem_address_free, "cuMemAddressFree", CuResult(CuAddress, std::size_t))                        \
  X(mem_map, "cuMemMap",                                                                           \
    CuResult(CuAddress, std::size_t, std::size_t, CuMemoryHandle, unsigned long long))             \
  X(mem_unmap, "cuMemUnmap", CuResult(CuAddress, std::size_t))                                     \
  X(mem_set_access, "cuMemSetAccess",                                                              \
    CuResult(CuAddress, std::size_t, const CuAccess*, std::size_t))                                \
  X(mem_export, "cuMemExportToShareableHandle",                                                    \
    CuResult(void*, CuMemoryHandle, int, unsigned long long))                                      \
  X(mem_import, "cuMemImportFromShareableHandle", CuResult(CuMemoryHandle*, void*, int))           \
  X(mem_get_info, "cuMemGetInfo_v2", CuResult(std::size_t*, std::size_t*))                         \
  X(mem_host_alloc, "cuMemHostAlloc", CuResult(void**, std::size_t, unsigned))                     \
  X(mem_host_address, "cuMemHostGetDevicePointer_v2", CuResult(CuAddress*, void*, unsigned))       \
  X(memset_d8_async, "cuMemsetD8Async", CuResult(CuAddress, unsigned char, std::size_t, CuStream)) \
  X(memcpy_dtoh, "cuMemcpyDtoHAsync_v2", CuResult(void*, CuAddress, std::size_t, CuStream))        \
  X(memcpy_htod, "cuMemcpyHtoDAsync_v2", CuResult(CuAddress, const void*, std::size_t, CuStream))  \
  X(memcpy_dtod, "cuMemcpyDtoDAsync_v2", CuResult(CuAddress, CuAddress, std::size_t, CuStream))    \
  X(stream_create, "cuStreamCreate", CuResult(CuStream*, unsigned))                                \
  X(stream_destroy, "cuStreamDestroy_v2", CuResult(CuStream))                                      \
  X(stream_synchronize, "cuStreamSynchronize", CuResult(CuStream))                                 \
  X(event_create, "cuEventCreate", CuResult(CuEvent*, unsigned))                                   \
  X(event_destroy, "cuEventDestroy_v2", CuResult(CuEvent))                                         \
  X(event_record, "cuEventRecord", CuResult(CuEvent, CuStream))                                    \
  X(event_elapsed, "cuEventElapsedTime", CuResult(float*, CuEvent, CuEvent))

struct CudaDriver {
#define SPECGEN_DECLARE(member, symbol, ...) std::add_pointer_t<__VA_ARGS__> member = nullptr;
  SPECGEN_CUDA_FUNCTIONS(SPECGEN_DECLARE)
#undef SPECGEN_DECLARE
  // Only from compute capability 9.0 on; null with an old driver.
  CuResult (*tensor_map_encode)(CuTensorMap*, int data_type, std::uint32_t rank, void* address,
                                const std::uint64_t* dimensions, const std::uint64_t* strides,
                                const std::uint32_t* box, const std::uint32_t* element_strides,
                                int interleave, int swizzle, int l2_promotion,
                                int out_of_bounds_fill) = nullptr;

  // Loads and initialises. device_missing (exit code 3), with what to do, where there is no GPU.
  static Result<const CudaDriver*> load();

  std::string text(CuResult code) const;  // "CUDA_ERROR_ILLEGAL_ADDRESS (700): an illegal ..."
  std::string name(CuResult code) const;  // "CUDA_ERROR_ILLEGAL_ADDRESS"
  std::string message(CuResult code) const;

  // device_failed, with what was being done, unless the code is 0.
  Result<void> check(CuResult code, std::string_view doing) const;
};

// What a GPU is, asked once. No context is needed.
struct CudaDeviceFacts {
  int index = 0;
  int handle = 0;  // CUdevice
  std::string name = {};
  std::string pci_bus_id = {};
  int major = 0;
  int minor = 0;
  int multiprocessors = 0;
  int threads_per_multiprocessor = 0;
  std::size_t l2_bytes = 0;
  std::size_t memory_bytes = 0;
  std::size_t granularity = 0;  // of shareable allocations
  int threads_per_block = 0;
  std::array<int, 3> block{};
  std::array<int, 3> grid{};
  int shared_bytes = 0;  // opt-in, per block

  std::string architecture() const;  // "sm_90a" for 9.0 and above, "sm_80"
};
Result<CudaDeviceFacts> ask_cuda_device(const CudaDriver& driver, int index);

}  // namespace specgen
