#pragma once
// Runs prepared calls in the executor's process, timed or not. A timed batch is queued behind a
// gate, so that the device never waits for the host between the two events around a call. If
// rotation alone does not clear the caches, they are flushed before every call.

#include <vector>

#include "evaluate/cuda/device_memory.h"
#include "evaluate/cuda/executor_programs.h"

namespace specgen {

class ExecutorStream {
 public:
  static Result<std::unique_ptr<ExecutorStream>> open(const CudaDriver& driver,
                                                      const CudaDeviceFacts& device);
  CuStream stream() const { return stream_; }

  ExecutorAnswer run(const RunRequest& request, const ExecutorPrograms& programs);
  ExecutorAnswer time(const TimeRequest& request, const ExecutorPrograms& programs);
  ExecutorAnswer canary(const CanaryRequest& request, const ExecutorPrograms& programs);

 private:
  ExecutorStream(const CudaDriver& driver, const CudaDeviceFacts& device)
      : driver_(driver), device_(device) {}
  // False: the answer says what failed.
  bool enqueue(const PreparedCall& call, ExecutorAnswer& answer);
  bool enqueue_timed(const PreparedCall& call, std::size_t sample, std::uint64_t flush_bytes,
                     ExecutorAnswer& answer);
  bool close_gate(CuFunction gate, ExecutorAnswer& answer);
  void open_gate();
  bool synchronise(ExecutorAnswer& answer);
  bool make_events(std::size_t pairs, ExecutorAnswer& answer);
  void fail_with(ExecutorAnswer& answer, CuResult code, std::string doing) const;

  const CudaDriver& driver_;
  const CudaDeviceFacts& device_;
  CuStream stream_ = nullptr;
  std::vector<CuEvent> events_;          // two per sample
  volatile unsigned* ticket_ = nullptr;  // in host memory that the device sees
  CuAddress ticket_address_ = 0;
  unsigned last_ticket_ = 0;
  std::optional<DeviceBuffer> flush_;
};

}  // namespace specgen
