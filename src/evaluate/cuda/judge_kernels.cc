#include "evaluate/cuda/judge_kernels.h"

namespace specgen {

constexpr std::string_view kJudgeKernelSource = R"cuda(
typedef unsigned long long u64;
typedef long long i64;

// As in task/counter_hash.h.
__device__ u64 counter_hash(u64 seed, u64 index) {
  u64 word = seed + (index + 1) * 0x9e3779b97f4a7c15ull;
  word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9ull;
  word = (word ^ (word >> 27)) * 0x94d049bb133111ebull;
  return word ^ (word >> 31);
}

__device__ i64 first_index() { return (i64)blockIdx.x * blockDim.x + threadIdx.x; }
__device__ i64 index_step() { return (i64)gridDim.x * blockDim.x; }

// A sum of hashed words, which does not depend on the order.
extern "C" __global__ void specgen_digest(const void* bytes, i64 count, u64* per_block) {
  u64 sum = 0;
  i64 words = count / 8;
  for (i64 i = first_index(); i < words; i += index_step()) {
    sum += counter_hash(((const u64*)bytes)[i], (u64)i);
  }
  for (i64 i = 8 * words + first_index(); i < count; i += index_step()) {
    sum += counter_hash(((const unsigned char*)bytes)[i], (u64)i ^ 0x5bd1e995ull);
  }
  __shared__ u64 all[256];
  all[threadIdx.x] = sum;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (threadIdx.x < half) all[threadIdx.x] += all[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) per_block[blockIdx.x] = all[0];
}

// The slack is what is mapped before and after the tensor; slack byte i has its own address.
__device__ i64 slack_byte(i64 i, i64 offset, i64 bytes) { return i < offset ? i : i + bytes; }

__device__ unsigned char slack_pattern(u64 secret, i64 at) {
  return (unsigned char)counter_hash(secret, (u64)at);
}

extern "C" __global__ void specgen_fill_slack(void* memory, i64 size, i64 offset, i64 bytes,
                                              u64 secret) {
  for (i64 i = first_index(); i < size - bytes; i += index_step()) {
    i64 at = slack_byte(i, offset, bytes);
    ((unsigned char*)memory)[at] = slack_pattern(secret, at);
  }
}

extern "C" __global__ void specgen_check_slack(const void* memory, i64 size, i64 offset, i64 bytes,
                                               u64 secret, u64* changed) {
  for (i64 i = first_index(); i < size - bytes; i += index_step()) {
    i64 at = slack_byte(i, offset, bytes);
    if (((const unsigned char*)memory)[at] == slack_pattern(secret, at)) continue;
    atomicAdd(changed, 1ull);
    atomicMin(changed + 1, (u64)at);
  }
}
)cuda";

constexpr std::string_view kExecutorKernelSource = R"cuda(
typedef unsigned long long u64;

// Holds the stream until the host reports that everything is queued. It opens by itself after a
// while: if the queue is full before the host can report it, both would wait forever.
extern "C" __global__ void specgen_gate(const volatile unsigned* ticket, unsigned wanted,
                                        u64 max_ns) {
  u64 start, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (*ticket < wanted && now - start < max_ns);
}

extern "C" __global__ void specgen_sum(u64* into, unsigned numbers) {
  __shared__ u64 all[256];
  u64 sum = 0;
  for (unsigned i = threadIdx.x; i < numbers; i += 256) sum += i * (u64)i;
  all[threadIdx.x] = sum;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (threadIdx.x < half) all[threadIdx.x] += all[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) *into = all[0];
}
)cuda";

}  // namespace specgen
