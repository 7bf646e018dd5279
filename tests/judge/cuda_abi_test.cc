// Compares our declarations of the CUDA driver's types with the vendor's header, if it is
// installed.

#include <cuda.h>
#include <gtest/gtest.h>

#include <type_traits>

#include "evaluate/cuda/driver_api.h"

namespace specgen {
namespace {

static_assert(sizeof(CuAddress) == sizeof(CUdeviceptr));
static_assert(sizeof(CuMemoryHandle) == sizeof(CUmemGenericAllocationHandle));

static_assert(sizeof(CuAllocationProperties) == sizeof(CUmemAllocationProp));
static_assert(offsetof(CuAllocationProperties, requested_handle_types) ==
              offsetof(CUmemAllocationProp, requestedHandleTypes));
static_assert(offsetof(CuAllocationProperties, location) ==
              offsetof(CUmemAllocationProp, location));
static_assert(offsetof(CuAllocationProperties, windows_only) ==
              offsetof(CUmemAllocationProp, win32HandleMetaData));
static_assert(offsetof(CuAllocationProperties, compression) ==
              offsetof(CUmemAllocationProp, allocFlags));

static_assert(sizeof(CuAccess) == sizeof(CUmemAccessDesc));
static_assert(offsetof(CuAccess, flags) == offsetof(CUmemAccessDesc, flags));

static_assert(sizeof(CuLaunchConfig) == sizeof(CUlaunchConfig));
static_assert(offsetof(CuLaunchConfig, block) == offsetof(CUlaunchConfig, blockDimX));
static_assert(offsetof(CuLaunchConfig, shared_bytes) == offsetof(CUlaunchConfig, sharedMemBytes));
static_assert(offsetof(CuLaunchConfig, stream) == offsetof(CUlaunchConfig, hStream));
static_assert(offsetof(CuLaunchConfig, attributes) == offsetof(CUlaunchConfig, attrs));
static_assert(offsetof(CuLaunchConfig, attribute_count) == offsetof(CUlaunchConfig, numAttrs));

static_assert(sizeof(CuLaunchAttribute) == sizeof(CUlaunchAttribute));
static_assert(offsetof(CuLaunchAttribute, value) == offsetof(CUlaunchAttribute, value));
static_assert(sizeof(CuTensorMap) == sizeof(CUtensorMap));
static_assert(alignof(CuTensorMap) == alignof(CUtensorMap));

static_assert(kCuPosixFileDescriptor == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
static_assert(CuLocation{}.type == CU_MEM_LOCATION_TYPE_DEVICE);
static_assert(CuAllocationProperties{}.type == CU_MEM_ALLOCATION_TYPE_PINNED);
static_assert(kCuRead == CU_MEM_ACCESS_FLAGS_PROT_READ);
static_assert(kCuReadWrite == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
static_assert(kCuAttributeCooperative == CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
static_assert(kCuAttributeCluster == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
static_assert(kCuScheduleSpin == CU_CTX_SCHED_SPIN);
static_assert(kCuScheduleBlocking == CU_CTX_SCHED_BLOCKING_SYNC);
static_assert(kCuLimitPersistingL2 == CU_LIMIT_PERSISTING_L2_CACHE_SIZE);
static_assert(kCuStreamNonBlocking == CU_STREAM_NON_BLOCKING);
static_assert(kCuHostMapped == CU_MEMHOSTALLOC_DEVICEMAP);

constexpr bool same(CuDeviceAttribute ours, CUdevice_attribute theirs) {
  return static_cast<int>(ours) == static_cast<int>(theirs);
}
using D = CuDeviceAttribute;
static_assert(same(D::threads_per_block, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK));
static_assert(same(D::block_x, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X));
static_assert(same(D::block_z, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z));
static_assert(same(D::grid_x, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X));
static_assert(same(D::grid_z, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z));
static_assert(same(D::multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
static_assert(same(D::l2_cache_bytes, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE));
static_assert(same(D::threads_per_multiprocessor,
                   CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR));
static_assert(same(D::capability_major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR));
static_assert(same(D::capability_minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
static_assert(same(D::shared_bytes_optin, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN));
static_assert(same(D::virtual_memory_management,
                   CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED));
static_assert(same(D::posix_descriptors,
                   CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED));

constexpr bool same(CuFunctionAttribute ours, CUfunction_attribute theirs) {
  return static_cast<int>(ours) == static_cast<int>(theirs);
}
using F = CuFunctionAttribute;
static_assert(same(F::threads_per_block, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK));
static_assert(same(F::static_shared_bytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES));
static_assert(same(F::local_bytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES));
static_assert(same(F::registers, CU_FUNC_ATTRIBUTE_NUM_REGS));
static_assert(same(F::dynamic_shared_bytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES));
static_assert(same(F::non_portable_cluster, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED));

static_assert(kCudaInvalidValue == CUDA_ERROR_INVALID_VALUE);
static_assert(kCudaOutOfMemory == CUDA_ERROR_OUT_OF_MEMORY);
static_assert(kCudaNoDevice == CUDA_ERROR_NO_DEVICE);
static_assert(kCudaIllegalAddress == CUDA_ERROR_ILLEGAL_ADDRESS);
static_assert(kCudaLaunchOutOfResources == CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
static_assert(kCudaLaunchTimeout == CUDA_ERROR_LAUNCH_TIMEOUT);
static_assert(kCudaAssert == CUDA_ERROR_ASSERT);
static_assert(kCudaHardwareStackError == CUDA_ERROR_HARDWARE_STACK_ERROR);
static_assert(kCudaIllegalInstruction == CUDA_ERROR_ILLEGAL_INSTRUCTION);
static_assert(kCudaMisalignedAddress == CUDA_ERROR_MISALIGNED_ADDRESS);
static_assert(kCudaInvalidAddressSpace == CUDA_ERROR_INVALID_ADDRESS_SPACE);
static_assert(kCudaInvalidProgramCounter == CUDA_ERROR_INVALID_PC);
static_assert(kCudaLaunchFailed == CUDA_ERROR_LAUNCH_FAILED);
static_assert(kCudaTensorMemoryLeak == CUDA_ERROR_TENSOR_MEMORY_LEAK);

TEST(CudaAbi, launch_attributes_have_the_layout_that_the_driver_reads) {
  CuLaunchAttribute ours{.id = kCuAttributeCluster, .value = {.cluster = {2, 3, 4}}};
  CUlaunchAttribute theirs;
  std::memcpy(&theirs, &ours, sizeof theirs);
  EXPECT_EQ(theirs.id, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
  EXPECT_EQ(theirs.value.clusterDim.x, 2U);
  EXPECT_EQ(theirs.value.clusterDim.y, 3U);
  EXPECT_EQ(theirs.value.clusterDim.z, 4U);
  ours = {.id = kCuAttributeCooperative, .value = {.cooperative = 1}};
  std::memcpy(&theirs, &ours, sizeof theirs);
  EXPECT_EQ(theirs.id, CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
  EXPECT_EQ(theirs.value.cooperative, 1);
}

}  // namespace
}  // namespace specgen
