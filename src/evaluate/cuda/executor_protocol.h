#pragma once
// What the judge and an executor say to each other: one request, one answer, in turn. Requests are
// the judge's, and still checked: an executor must not do something odd because of a slip here. An
// answer comes from a process that ran a candidate's kernels, so it is checked as a stranger's.
//
// Binary things go apart: `load` is followed by three messages with machine code (our own tools,
// the baseline or nothing, the candidate), `import` brings one descriptor per piece of memory.

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
    std::uint64_t bytes = 0;  // all that was allocated: a multiple of the granularity
    bool writable = false;
  };
  std::vector<Piece> pieces;  // numbered on from those that came before, dropped ones too
};
struct Place {  // of a tensor: which piece, and where in it
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
  // A baseline may run elsewhere (a PyTorch module does); a candidate is always here.
  std::array<std::optional<Program>, kPrograms> programs;
};
struct RunRequest {
  Who who = Who::baseline;
  std::size_t set = 0;
};
struct TimeRequest {
  Who who = Who::baseline;
  std::vector<std::size_t> sets;
  std::uint64_t flush_bytes = 0;  // overwritten before every call, outside of what is timed
};
struct ClearRequest {                  // forgets plans and memory
  std::vector<std::size_t> keep = {};  // but these pieces
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

// An error of the driver, with what was being done.
struct DriverFault {
  int code = 0;  // 0: none
  std::string name = {};
  std::string words = {};
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
  std::string rejected = {};  // the program does not fit its launch lines; says why
  int launch = -1;            // which launch is to blame, if one is
  Who who = Who::candidate;   // whose program it is about
  DriverFault fault = {};
  std::string broken = {};      // a request that made no sense: our own mistake
  double wall_ns = 0;           // by the host's clock, from the first launch to the end
  std::vector<double> ns = {};  // by the device's clock, one per timed call
  std::vector<KernelDescription> kernels = {};
  std::uint64_t sum = 0;  // canary

  std::string trouble() const;  // whatever is not ok about it, in words
};
std::string encode(const ExecutorAnswer& answer);
Result<ExecutorAnswer> parse_executor_answer(std::string_view text);

}  // namespace specgen
