#pragma once
// CUDA candidates for tests, with their launch lines: honest ones that use one feature each, and
// some that misbehave. x and y are f32; rows and cols are axes.

#include <string_view>

namespace specgen {

inline constexpr std::string_view kCopy = R"cuda(
// specgen:launch copy<<<ceildiv(rows*cols, 256), 256>>>(x, y, rows*cols)
extern "C" __global__ void copy(const float* x, float* y, long long n) {
  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
)cuda";

inline constexpr std::string_view kTemplateCopy = R"cuda(
// specgen:tune BLOCK = 128, 64
// specgen:launch copy<BLOCK, float><<<ceildiv(rows*cols, BLOCK), BLOCK>>>(x, y, rows*cols)
template <int B, class T> __global__ void copy(const T* x, T* y, int n) {
  int i = blockIdx.x * B + threadIdx.x;
  if (i < n) y[i] = x[i];
}
)cuda";

// A 4-byte int, an 8-byte one, a float and a double literal, a scalar of the task, an offset.
inline constexpr std::string_view kScalars = R"cuda(
// specgen:launch rows_of<<<rows, 128>>>(x, y, cols, rows, 0.5, 2.0, one)
// specgen:launch last_row<<<1, 128>>>(x + cols*(rows-1), y + cols*(rows-1), cols)
__global__ void rows_of(const float* x, float* y, int cols, long long rows, float half, double two,
                        float one) {
  if (blockIdx.x + 1 >= rows) return;
  for (int i = threadIdx.x; i < cols; i += blockDim.x) {
    y[blockIdx.x * cols + i] = (float)(x[blockIdx.x * cols + i] * half * two * one);
  }
}
__global__ void last_row(const float* x, float* y, int cols) {
  for (int i = threadIdx.x; i < cols; i += blockDim.x) y[i] = x[i];
}
)cuda";

inline constexpr std::string_view kLargeShared = R"cuda(
// specgen:launch through_shared<<<rows, 256, 100000>>>(x, y, cols)
__global__ void through_shared(const float* x, float* y, int cols) {
  extern __shared__ float tile[];
  int last = 100000 / 4 - 256;
  for (int i = threadIdx.x; i < cols; i += 256) {
    tile[last + threadIdx.x] = x[blockIdx.x * cols + i];
    __syncwarp();
    y[blockIdx.x * cols + i] = tile[last + threadIdx.x];
  }
}
)cuda";

inline constexpr std::string_view kCluster = R"cuda(
// specgen:launch neighbour<<<2*rows, 128, 0, cluster=(2,1,1)>>>(x, y, cols)
#include <cooperative_groups.h>
__global__ void neighbour(const float* x, float* y, int cols) {
  __shared__ float mine[128];
  auto cluster = cooperative_groups::this_cluster();
  int row = blockIdx.x / 2;
  unsigned rank = cluster.block_rank();
  for (int begin = 0; begin < cols; begin += 256) {
    int theirs = begin + 128 * (1 - rank) + threadIdx.x;  // read by the other half
    mine[threadIdx.x] = theirs < cols ? x[row * cols + theirs] : 0;
    cluster.sync();
    int i = begin + 128 * rank + threadIdx.x;
    if (i < cols) y[row * cols + i] = *cluster.map_shared_rank(&mine[threadIdx.x], 1 - rank);
    cluster.sync();
  }
}
)cuda";

inline constexpr std::string_view kCooperative = R"cuda(
// specgen:scratch middle f32[rows*cols]
// specgen:launch twice<<<32, 128, 0, cooperative>>>(x, middle, y, rows*cols)
#include <cooperative_groups.h>
__global__ void twice(const float* x, float* middle, float* y, int n) {
  int first = blockIdx.x * 128 + threadIdx.x, step = 32 * 128;
  for (int i = first; i < n; i += step) middle[i] = x[i];
  cooperative_groups::this_grid().sync();
  for (int i = first; i < n; i += step) y[n - 1 - i] = middle[n - 1 - i];
}
)cuda";

inline constexpr std::string_view kTensormap = R"cuda(
// specgen:tensormap tx = tiled(x, box(32, 32), swizzle 128)
// specgen:tensormap ty = tiled(y, box(32, 32), swizzle 128)
// specgen:launch tma_copy<<<(ceildiv(cols, 32), ceildiv(rows, 32)), 32>>>(tx, ty)
__global__ void tma_copy(const __grid_constant__ CUtensorMap tx,
                         const __grid_constant__ CUtensorMap ty) {
  alignas(1024) __shared__ float tile[32 * 32];
  __shared__ unsigned long long barrier;
  if (threadIdx.x != 0) return;
  unsigned tile_at = (unsigned)__cvta_generic_to_shared(tile);
  unsigned barrier_at = (unsigned)__cvta_generic_to_shared(&barrier);
  int x = blockIdx.x * 32, y = blockIdx.y * 32;
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier_at) : "memory");
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 4096;" ::"r"(barrier_at)
               : "memory");
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%3, %4}], [%2];" ::"r"(tile_at),
      "l"(&tx), "r"(barrier_at), "r"(x), "r"(y)
      : "memory");
  unsigned done = 0;
  while (!done) {
    asm volatile(
        "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; "
        "selp.u32 %0, 1, 0, p; }"
        : "=r"(done)
        : "r"(barrier_at)
        : "memory");
  }
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];" ::
                   "l"(&ty), "r"(tile_at), "r"(x), "r"(y)
               : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}
)cuda";

// Right only if its counter is zero at the start of every call.
inline constexpr std::string_view kZeroed = R"cuda(
// specgen:scratch counter i32[1]
// specgen:zero counter
// specgen:launch take_turns<<<ceildiv(rows*cols, 256), 256>>>(x, y, counter, rows*cols)
__global__ void take_turns(const float* x, float* y, int* counter, int n) {
  int i = atomicAdd(counter, 1);
  if (i < n) y[i] = x[i];
}
)cuda";

inline constexpr std::string_view kWritesBehind = R"cuda(
// specgen:launch k<<<1, 32>>>(x, y, rows*cols)
__global__ void k(const float* x, float* y, int n) { y[n + threadIdx.x * 64] = x[0]; }
)cuda";

inline constexpr std::string_view kWritesBefore = R"cuda(
// specgen:launch k<<<1, 32>>>(x, y)
__global__ void k(const float* x, float* y) { y[-1 - (int)threadIdx.x] = x[0]; }
)cuda";

// These do as they should while the case is large.
inline constexpr std::string_view kLazyWhenSmall = R"cuda(
// specgen:launch k<<<ceildiv(rows*cols, 256), 256>>>(x, y, rows*cols)
__global__ void k(const float* x, float* y, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n && n > 1000) y[i] = x[i];
}
)cuda";

inline constexpr std::string_view kWritesBehindWhenSmall = R"cuda(
// specgen:launch k<<<ceildiv(rows*cols, 256), 256>>>(x, y, rows*cols)
__global__ void k(const float* x, float* y, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n || n < 1000) y[i] = x[i < n ? i : 0];
}
)cuda";

inline constexpr std::string_view kReadsFarBehind = R"cuda(
// specgen:launch k<<<1, 32>>>(x, y, rows*cols)
__global__ void k(const float* x, float* y, int n) { y[threadIdx.x] = x[n + 100000 + threadIdx.x]; }
)cuda";

inline constexpr std::string_view kWritesInput = R"cuda(
// specgen:launch k<<<ceildiv(rows*cols, 256), 256>>>(x, y, rows*cols)
__global__ void k(float* x, float* y, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) { y[i] = x[i]; x[i] = 0; }
}
)cuda";

inline constexpr std::string_view kEndless = R"cuda(
// specgen:launch k<<<1, 32>>>(y)
__global__ void k(volatile float* y) { while (y[0] != 12345.f) {} }
)cuda";

inline constexpr std::string_view kTrap = R"cuda(
// specgen:launch k<<<1, 32>>>(y)
__global__ void k(float* y) { asm volatile("trap;"); y[0] = 1; }
)cuda";

inline constexpr std::string_view kMisaligned = R"cuda(
// specgen:launch k<<<1, 32>>>(x, y)
__global__ void k(const float* x, float* y) {
  *(float4*)(y + 1) = make_float4(x[0], x[1], x[2], x[3]);
}
)cuda";

inline constexpr std::string_view kHalf = R"cuda(
// specgen:launch k<<<ceildiv(rows*cols, 256), 256>>>(x, y, rows*cols/2)
__global__ void k(const float* x, float* y, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) y[i] = x[i];
}
)cuda";

inline constexpr std::string_view kTooFewArguments = R"cuda(

// specgen:launch k<<<1, 32>>>(x, y)
__global__ void k(const float* x, float* y, int n) { if (n > 0) y[0] = x[0]; }
)cuda";

inline constexpr std::string_view kTooManyThreads = R"cuda(
// specgen:launch k<<<1, 512>>>(x, y)
__global__ void __launch_bounds__(64) k(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x]; }
)cuda";

}  // namespace specgen
