#pragma once
// The protocol between judge and executor: one answer for each request. Requests come from the
// judge and are still checked, to find our own mistakes. Answers come from a process that ran a
// candidate's kernels, so they are not trusted and fully checked.
//
// Binary data is sent separately: `load` is followed by three messages with machine code (our own
// tools, the baseline or nothing, the candidate), `import` has one descriptor per piece of memory.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.h"
#include "evaluate/judge/test_rig.h"

namespace specgen {

inline constexpr std::size_t kPrograms = 2;  // indexed by Who
inline constexpr std::size_t kImportsAtOnce = 200;

struct LoadRequest {};
struct ImportRequest {
  struct Piece {
    std::uint64_t bytes = 0;  // as allocated: a multiple of the granularity
    bool writable = false;
  };
  std::vector<Piece> pieces;  // numbered after all earlier ones, including dropped ones
};
struct Place {  // of a tensor: a piece and a position in it
  std::size_t piece = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};
struct LayOutRequest {
  struct Program {
    std::string plan;                         // a LaunchPlan as JSON
    std::vector<std::string> functions;       // mangled, one per launch
    std::vector<std::vector<Place>> scratch;  // per set
  };
  std::vector<std::vector<Place>> tensors;  // per set: inputs, then outputs
  // A baseline may run elsewhere, as a PyTorch module; a candidate always runs here.
  std::array<std::optional<Program>, kPrograms> programs;
};
struct RunRequest {
  Who who = Who::baseline;
  std::size_t set = 0;
};
struct TimeRequest {
  Who who = Who::baseline;
  std::vector<std::size_t> sets;
  std::uint64_t flush_bytes = 0;  // overwritten before every call, not timed
};
struct ClearRequest {                  // drops plans and memory
  std::vector<std::size_t> keep = {};  // except these pieces
};
struct DescribeRequest {
  Who who = Who::candidate;
  std::string plan;
  std::vector<std::string> functions;
};
struct CanaryRequest {
  unsigned numbers = 1000;
};

using ExecutorRequest = std::variant<LoadRequest, ImportRequest, LayOutRequest, RunRequest,
                                     TimeRequest, ClearRequest, DescribeRequest, CanaryRequest>;
std::string encode(const ExecutorRequest& request);
Result<ExecutorRequest> parse_executor_request(std::string_view text);

// An error of the driver, and the operation that failed.
struct DriverFault {
  int code = 0;  // 0: none
  std::string name = {};
  std::string message = {};
  std::string doing = {};
  std::string text() const;  // "launch of softmax: CUDA_ERROR_... (701): too many resources ..."
};

struct KernelDescription {
  std::string function = {};
  int registers = 0;
  int static_shared_bytes = 0;
  int local_bytes = 0;
  int max_threads = 0;
  int blocks_per_multiprocessor = 0;
};

struct ExecutorAnswer {
  bool ok = false;
  std::string rejected = {};  // why the program does not fit its launch lines
  int launch = -1;            // the launch at fault, if known
  Who who = Who::candidate;   // whose program it concerns
  DriverFault fault = {};
  std::string broken = {};      // a malformed request: our own mistake
  double wall_ns = 0;           // by the host's clock, from the first launch to the end
  std::vector<double> ns = {};  // by the device's clock, one per timed call
  std::vector<KernelDescription> kernels = {};
  std::uint64_t sum = 0;  // canary

  std::string problem() const;  // why it is not ok
};
std::string encode(const ExecutorAnswer& answer);
Result<ExecutorAnswer> parse_executor_answer(std::string_view text);

}  // namespace specgen
