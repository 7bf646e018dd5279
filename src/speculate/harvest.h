#pragma once
// Complete kernels that stand in the reasoning itself: candidates for no tokens at all. Fed deltas as they come, it
// tells of a kernel as soon as its last byte is there, never of half of one, and of near-equal drafts (white space and
// comments apart) once. Kernels are found inside fences and without them. One pass over the text; what is kept of it
// is the block or line that is open, at most as large as a kernel may be, and a hash for each kernel found.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace specgen {

enum class HarvestKind : std::uint8_t {
  native,  // as a task asks for it: extern "C" (cpu), __global__ with specgen:launch lines (cuda)
  model_new,  // a Python ModelNew class
  foreign,  // whole, but for another harness: Triton functions with a launcher, CUDA with host code
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
  // "cpu" or "cuda". Foreign kernels cannot be judged: they are for who looks at traces.
  explicit Harvester(std::string backend, Foreign foreign = Foreign::leave);
  Harvester(Harvester&&) noexcept;
  ~Harvester();

  void feed(std::string_view reasoning, std::vector<HarvestedKernel>& found);
  // The reasoning is over: a kernel that ended with it and had no fence.
  void finish(std::vector<HarvestedKernel>& found);

  // Whole kernels that were not told of, because a near-equal one was. Nothing is new behind them either.
  std::uint64_t repeated() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace specgen
