#pragma once
// Finds complete kernels in the reasoning itself: drafts, candidates that cost no extra tokens. A kernel is
// reported with
// the delta that completes it, never in part, and drafts that differ only in white space and comments are
// reported once.
// Kernels are found inside fences and without them. One pass over the text; the harvester keeps the open block or line,
// at most as large as the largest kernel, and a hash of each kernel found.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace specgen {

enum class HarvestKind : std::uint8_t {
  native,     // as tasks require it: extern "C" (cpu), __global__ with specgen:launch lines (cuda)
  model_new,  // a Python ModelNew class
  foreign,  // complete, but for another harness: Triton functions with a launcher, CUDA with host code
};
std::string_view to_string(HarvestKind kind);

struct HarvestedKernel {
  std::string source;
  HarvestKind kind = HarvestKind::native;
  std::size_t begin = 0;  // in the stream's reasoning, in bytes
  std::size_t end = 0;
  bool fenced = false;
  bool is_python = false;  // a ModelNew class
};

class Harvester {
 public:
  enum class Foreign : std::uint8_t { leave, take };
  // "cpu" or "cuda". Foreign kernels cannot be evaluated; `specgen triggers` lists them.
  explicit Harvester(std::string backend, Foreign foreign = Foreign::leave);
  Harvester(Harvester&&) noexcept;
  ~Harvester();

  void feed(std::string_view reasoning, std::vector<HarvestedKernel>& found);
  // The reasoning has ended: adds a kernel without a fence that ended with it.
  void finish(std::vector<HarvestedKernel>& found);

  // Complete kernels that were not reported because a near-equal one was.
  std::uint64_t repeated() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace specgen
