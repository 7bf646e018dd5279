#include "evaluate/cuda/executor_stream.h"

#include <fmt/core.h>

#include <array>

#include "runtime/stopwatch.h"

namespace specgen {
namespace {

// Operations queued behind a closed gate. The queue of a stream holds about a thousand; with more
// the host would wait for the device, which waits for the gate.
constexpr std::size_t kOperationsBehindGate = 200;
constexpr std::uint64_t kMaxGateNs = 3'000'000;  // then it opens by itself
constexpr std::size_t kMaxSamples = 4096;

double since(std::int64_t started) {
  return static_cast<double>(stopwatch_ns() - started);
}

}  // namespace

Result<std::unique_ptr<ExecutorStream>> ExecutorStream::open(const CudaDriver& driver,
                                                             const CudaDeviceFacts& device) {
  auto self = std::unique_ptr<ExecutorStream>(new ExecutorStream(driver, device));
  TRY(driver.check(driver.stream_create(&self->stream_, kCuStreamNonBlocking), "cuStreamCreate"));
  void* ticket = nullptr;
  TRY(driver.check(driver.mem_host_alloc(&ticket, sizeof(unsigned), kCuHostMapped),
                   "cuMemHostAlloc"));
  self->ticket_ = static_cast<volatile unsigned*>(ticket);
  *self->ticket_ = 0;
  TRY(driver.check(driver.mem_host_address(&self->ticket_address_, ticket, 0),
                   "cuMemHostGetDevicePointer"));
  return self;
}

void ExecutorStream::fail_with(ExecutorAnswer& answer, CuResult code, std::string doing) const {
  answer.ok = false;
  answer.fault = {.code = code,
                  .name = driver_.name(code),
                  .message = driver_.message(code),
                  .doing = std::move(doing)};
}

bool ExecutorStream::enqueue(const PreparedCall& call, ExecutorAnswer& answer) {
  for (const PreparedCall::Zero& zero : call.zeros) {
    if (CuResult code = driver_.memset_d8_async(zero.address, 0, zero.bytes, stream_)) {
      fail_with(answer, code, "zeroing of a buffer");
      return false;
    }
  }
  for (std::size_t k = 0; k < call.launches.size(); ++k) {
    const PreparedLaunch& launch = call.launches[k];
    // The driver copies the parameters and does not change them.
    auto** parameters = const_cast<void**>(launch.parameters.data());
    if (CuResult code =
            driver_.launch_kernel_ex(&launch.config, launch.function, parameters, nullptr)) {
      answer.launch = static_cast<int>(k);
      fail_with(answer, code, "launch of " + launch.name);
      return false;
    }
  }
  return true;
}

bool ExecutorStream::synchronise(ExecutorAnswer& answer) {
  CuResult code = driver_.stream_synchronize(stream_);
  if (code == kCudaOk) return true;
  fail_with(answer, code, "run");
  return false;
}

ExecutorAnswer ExecutorStream::run(const RunRequest& request, const ExecutorPrograms& programs) {
  ExecutorAnswer answer{.who = request.who};
  const PreparedCall* call = programs.call(request.who, request.set);
  if (!call) {
    answer.broken = fmt::format("there is no set {}", request.set);
    return answer;
  }
  const std::int64_t started = stopwatch_ns();
  if (!enqueue(*call, answer) || !synchronise(answer)) return answer;
  answer.wall_ns = since(started);
  answer.ok = true;
  return answer;
}

bool ExecutorStream::make_events(std::size_t pairs, ExecutorAnswer& answer) {
  while (events_.size() < 2 * pairs) {
    CuEvent event = nullptr;
    if (CuResult code = driver_.event_create(&event, 0)) {
      fail_with(answer, code, "cuEventCreate");
      return false;
    }
    events_.push_back(event);
  }
  return true;
}

bool ExecutorStream::close_gate(CuFunction gate, ExecutorAnswer& answer) {
  unsigned wanted = ++last_ticket_;
  std::uint64_t longest = kMaxGateNs;
  std::array<void*, 3> parameters{&ticket_address_, &wanted, &longest};
  CuLaunchConfig config{.stream = stream_};
  if (CuResult code = driver_.launch_kernel_ex(&config, gate, parameters.data(), nullptr)) {
    fail_with(answer, code, "launch of the gate");
    return false;
  }
  return true;
}

void ExecutorStream::open_gate() {
  *ticket_ = last_ticket_;
}

bool ExecutorStream::enqueue_timed(const PreparedCall& call, std::size_t sample,
                                   std::uint64_t flush_bytes, ExecutorAnswer& answer) {
  if (flush_bytes > 0) {
    auto value = static_cast<unsigned char>(sample);
    if (CuResult code = driver_.memset_d8_async(flush_->address(), value, flush_bytes, stream_)) {
      fail_with(answer, code, "flush of the cache");
      return false;
    }
  }
  if (CuResult code = driver_.event_record(events_[2 * sample], stream_)) {
    fail_with(answer, code, "cuEventRecord");
    return false;
  }
  if (!enqueue(call, answer)) return false;
  if (CuResult code = driver_.event_record(events_[2 * sample + 1], stream_)) {
    fail_with(answer, code, "cuEventRecord");
    return false;
  }
  return true;
}

ExecutorAnswer ExecutorStream::time(const TimeRequest& request, const ExecutorPrograms& programs) {
  ExecutorAnswer answer{.who = request.who};
  CuFunction gate = programs.tool("specgen_gate");
  if (!gate || request.sets.size() > kMaxSamples) {
    answer.broken = gate ? "too many samples at once" : "no programs are loaded";
    return answer;
  }
  if (request.flush_bytes > 0 && (!flush_ || flush_->bytes() < request.flush_bytes)) {
    flush_.reset();
    auto made = DeviceBuffer::create(driver_, device_, request.flush_bytes);
    if (!made) {
      answer.broken = "memory to flush the cache: " + made.error().summary();
      return answer;
    }
    flush_.emplace(std::move(*made));
  }
  if (!make_events(request.sets.size(), answer)) return answer;
  // Releases cache lines that a kernel has marked as persistent.
  driver_.ctx_reset_persisting_l2();

  const std::int64_t started = stopwatch_ns();
  std::size_t behind_gate = 0;
  bool queued = true;
  for (std::size_t i = 0; i < request.sets.size() && queued; ++i) {
    const PreparedCall* call = programs.call(request.who, request.sets[i]);
    if (!call) {
      answer.broken = fmt::format("there is no set {}", request.sets[i]);
      queued = false;
      break;
    }
    std::size_t operations = call->operations() + 3;
    if (behind_gate == 0 || behind_gate + operations > kOperationsBehindGate) {
      open_gate();  // for what is already queued; the next gate waits behind it
      queued = close_gate(gate, answer);
      behind_gate = 0;
    }
    behind_gate += operations;
    queued = queued && enqueue_timed(*call, i, request.flush_bytes, answer);
  }
  open_gate();
  if (!queued) {
    ExecutorAnswer ignored;
    synchronise(ignored);
    return answer;
  }
  if (!synchronise(answer)) return answer;
  answer.wall_ns = since(started);
  for (std::size_t i = 0; i < request.sets.size(); ++i) {
    float milliseconds = 0;
    if (CuResult code = driver_.event_elapsed(&milliseconds, events_[2 * i], events_[2 * i + 1])) {
      fail_with(answer, code, "cuEventElapsedTime");
      return answer;
    }
    answer.ns.push_back(1e6 * static_cast<double>(milliseconds));
  }
  answer.ok = true;
  return answer;
}

ExecutorAnswer ExecutorStream::canary(const CanaryRequest& request,
                                      const ExecutorPrograms& programs) {
  ExecutorAnswer answer;
  CuFunction sum = programs.tool("specgen_sum");
  if (!sum) {
    answer.broken = "no programs are loaded";
    return answer;
  }
  auto buffer = DeviceBuffer::create(driver_, device_, sizeof answer.sum);
  if (!buffer) {
    answer.broken = buffer.error().summary();
    return answer;
  }
  CuAddress into = buffer->address();
  unsigned numbers = request.numbers;
  std::array<void*, 2> parameters{&into, &numbers};
  CuLaunchConfig config{.block = {256, 1, 1}, .stream = stream_};
  if (CuResult code = driver_.launch_kernel_ex(&config, sum, parameters.data(), nullptr)) {
    fail_with(answer, code, "launch of the canary");
    return answer;
  }
  if (CuResult code = driver_.memcpy_dtoh(&answer.sum, into, sizeof answer.sum, stream_)) {
    fail_with(answer, code, "copy of the canary's sum");
    return answer;
  }
  answer.ok = synchronise(answer);
  return answer;
}

}  // namespace specgen
