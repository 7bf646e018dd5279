#include "evaluate/cuda/ceilings.h"

#include <algorithm>
#include <limits>

namespace specgen {

constexpr std::string_view kCeilingKernelSource = R"cuda(
typedef long long i64;

__device__ float4 load_from_l2(const float4* at) {
  float4 v;
  asm volatile("ld.global.cg.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(at));
  return v;
}

// Reads everything `repeats` times. The sum keeps the compiler from removing loads.
extern "C" __global__ void ceiling_read(const float4* in, i64 count, int repeats, float* out) {
  float sum = 0;
  i64 step = (i64)gridDim.x * blockDim.x;
  for (int r = 0; r < repeats; ++r) {
    i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x;
    for (; i + 3 * step < count; i += 4 * step) {
      float4 a = load_from_l2(in + i), b = load_from_l2(in + i + step);
      float4 c = load_from_l2(in + i + 2 * step), d = load_from_l2(in + i + 3 * step);
      sum += a.x + a.y + a.z + a.w + b.x + b.y + b.z + b.w;
      sum += c.x + c.y + c.z + c.w + d.x + d.y + d.z + d.w;
    }
    for (; i < count; i += step) sum += load_from_l2(in + i).x;
  }
  if (sum == 0.12345f) *out = sum;
}

extern "C" __global__ void ceiling_nothing() {}

template <class T>
__device__ void multiply_add(int rounds, T a, T b, float* out) {
  T x[8];
  for (int k = 0; k < 8; ++k) x[k] = (T)(threadIdx.x + k);
  for (int r = 0; r < rounds; ++r) {
#pragma unroll
    for (int k = 0; k < 8; ++k) x[k] = x[k] * a + b;
  }
  T sum = 0;
  for (int k = 0; k < 8; ++k) sum += x[k];
  if (sum == (T)0.12345) *out = (float)sum;
}
extern "C" __global__ void ceiling_f32(int rounds, float* out) {
  multiply_add<float>(rounds, 0.999f, 0.001f, out);
}
extern "C" __global__ void ceiling_f64(int rounds, float* out) {
  multiply_add<double>(rounds, 0.999, 0.001, out);
}

#if __CUDA_ARCH__ >= 800
// Four independent accumulators per warp. The values of the operands do not matter: all are zero.
#define SPECGEN_MATRIX(name, instruction)                                                        \
  extern "C" __global__ void name(int rounds, float* out) {                                      \
    unsigned a = threadIdx.x >> 10;                                                              \
    float c[4][4] = {};                                                                          \
    for (int r = 0; r < rounds; ++r) {                                                           \
      _Pragma("unroll") for (int k = 0; k < 4; ++k) {                                            \
        asm volatile(instruction " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "              \
                     "{%0, %1, %2, %3};"                                                        \
                     : "+f"(c[k][0]), "+f"(c[k][1]), "+f"(c[k][2]), "+f"(c[k][3])                \
                     : "r"(a), "r"(a), "r"(a), "r"(a), "r"(a), "r"(a));                          \
      }                                                                                          \
    }                                                                                            \
    float sum = 0;                                                                               \
    for (int k = 0; k < 4; ++k) sum += c[k][0] + c[k][1] + c[k][2] + c[k][3];                    \
    if (sum == 0.12345f) *out = sum;                                                             \
  }
SPECGEN_MATRIX(ceiling_f16, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
SPECGEN_MATRIX(ceiling_bf16, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32")
SPECGEN_MATRIX(ceiling_tf32, "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32")

extern "C" __global__ void ceiling_f64_matrix(int rounds, float* out) {
  double a = threadIdx.x >> 10, c[4][2] = {};
  for (int r = 0; r < rounds; ++r) {
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, "
                   "{%0, %1};"
                   : "+d"(c[k][0]), "+d"(c[k][1]) : "d"(a), "d"(a));
    }
  }
  double sum = 0;
  for (int k = 0; k < 4; ++k) sum += c[k][0] + c[k][1];
  if (sum == 0.12345) *out = (float)sum;
}
#endif
)cuda";

namespace {

constexpr int kTries = 5;
constexpr std::size_t kStream = std::size_t{1} << 30;   // bytes: far larger than any cache
constexpr std::size_t kCover = std::size_t{256} << 20;  // a tenth of a millisecond

// The shortest time of several tries of what `enqueue` puts on the stream. Each is queued behind
// other work, so that the host has finished when the clock starts.
class Stopwatches {
 public:
  static Result<Stopwatches> make(JudgeGpu& gpu) {
    Stopwatches made(gpu, TRY(DeviceBuffer::create(gpu.driver(), gpu.device(), kCover)));
    for (CuEvent& event : made.events_) {
      TRY(gpu.driver().check(gpu.driver().event_create(&event, 0), "cuEventCreate"));
    }
    return made;
  }
  Stopwatches(Stopwatches&& other) noexcept
      : gpu_(other.gpu_),
        cover_(std::move(other.cover_)),
        events_(std::exchange(other.events_, {})) {}
  Stopwatches& operator=(Stopwatches&&) = delete;
  ~Stopwatches() {
    for (CuEvent event : events_) {
      if (event) gpu_.driver().event_destroy(event);
    }
  }

  template <class Enqueue>
  Result<double> shortest_seconds(int tries, Enqueue enqueue) {
    const CudaDriver& driver = gpu_.driver();
    double shortest = std::numeric_limits<double>::infinity();
    for (int i = 0; i <= tries; ++i) {
      TRY(driver.check(driver.memset_d8_async(cover_.address(), 0, cover_.bytes(), gpu_.stream()),
                       "cuMemset"));
      TRY(driver.check(driver.event_record(events_[0], gpu_.stream()), "cuEventRecord"));
      TRY(enqueue());
      TRY(driver.check(driver.event_record(events_[1], gpu_.stream()), "cuEventRecord"));
      TRY(gpu_.finish());
      float milliseconds = 0;
      TRY(driver.check(driver.event_elapsed(&milliseconds, events_[0], events_[1]),
                       "cuEventElapsedTime"));
      // The first try warms up.
      if (i > 0) shortest = std::min(shortest, 1e-3 * static_cast<double>(milliseconds));
    }
    return shortest;
  }

 private:
  Stopwatches(JudgeGpu& gpu, DeviceBuffer cover) : gpu_(gpu), cover_(std::move(cover)) {}
  JudgeGpu& gpu_;
  DeviceBuffer cover_;
  std::array<CuEvent, 2> events_{};
};

struct Rate {
  const char* name;
  const char* kernel;
  double flops_per_round;  // of one thread
  bool is_matrix;
};
constexpr std::array kRates{
    Rate{"f32", "ceiling_f32", 2 * 8, false},
    Rate{"f64", "ceiling_f64", 2 * 8, false},
    Rate{"f64", "ceiling_f64_matrix", 4 * 512.0 / 32, true},
    Rate{"f16", "ceiling_f16", 4 * 4096.0 / 32, true},
    Rate{"bf16", "ceiling_bf16", 4 * 4096.0 / 32, true},
    Rate{"tf32", "ceiling_tf32", 4 * 2048.0 / 32, true},
};

}  // namespace

double matrix_headroom(int capability_major) {
  return capability_major >= 10 ? 4 : capability_major == 9 ? 2 : 1;
}

Result<Ceilings> measure_cuda_ceilings(JudgeGpu& gpu, const std::string& binary) {
  TRY(gpu.enter());
  const CudaDeviceFacts& device = gpu.device();
  CuModule module = TRY(gpu.load(binary));
  Stopwatches watches = TRY(Stopwatches::make(gpu));
  DeviceBuffer from = TRY(DeviceBuffer::create(gpu.driver(), device, kStream));
  DeviceBuffer to = TRY(DeviceBuffer::create(gpu.driver(), device, kStream));
  CuAddress out = to.address();
  const auto blocks = static_cast<unsigned>(8 * device.multiprocessors);
  Ceilings ceilings;

  // On most devices reading is faster than copying.
  CuFunction read = TRY(gpu.function(module, "ceiling_read"));
  auto read_seconds = [&](std::size_t bytes, int repeats) {
    return watches.shortest_seconds(kTries, [&] {
      return gpu.launch(read, blocks, 256, from.address(), static_cast<long long>(bytes / 16),
                        repeats, out);
    });
  };
  double copied = TRY(watches.shortest_seconds(
      kTries, [&] { return gpu.copy(to.address(), from.address(), kStream); }));
  ceilings.memory_bytes_per_second =
      std::max(2.0 * kStream / copied, kStream / TRY(read_seconds(kStream, 1)));
  // A third of the cache, so that it stays there even if each half caches everything.
  std::size_t resident = device.l2_bytes / 3 / 4096 * 4096;
  constexpr int kRepeats = 40;
  ceilings.cache_bytes = static_cast<double>(device.l2_bytes);
  ceilings.cache_bytes_per_second =
      std::max(static_cast<double>(resident) * kRepeats / TRY(read_seconds(resident, kRepeats)),
               ceilings.memory_bytes_per_second);

  constexpr int kRounds = 4096;
  for (const Rate& rate : kRates) {
    if (rate.is_matrix && device.major < 8) continue;
    CuFunction kernel = TRY(gpu.function(module, rate.kernel));
    double seconds = TRY(watches.shortest_seconds(
        kTries, [&] { return gpu.launch(kernel, blocks, 256, kRounds, out); }));
    double flops = rate.flops_per_round * kRounds * 256 * blocks / seconds;
    bool has_faster = rate.is_matrix && std::string_view(rate.name) != "f64";
    if (has_faster) flops *= matrix_headroom(device.major);
    double& best = ceilings.flops_per_second[rate.name];
    best = std::max(best, flops);
  }

  CuFunction nothing = TRY(gpu.function(module, "ceiling_nothing"));
  constexpr int kEmptyTries = 200;
  ceilings.launch_seconds =
      TRY(watches.shortest_seconds(kEmptyTries, [&] { return gpu.launch(nothing, 1, 32); }));
  return ceilings;
}

}  // namespace specgen
