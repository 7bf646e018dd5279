#pragma once
// Complete kernels that stand in the thinking itself: candidates for no tokens at all. Fed deltas as they come, it
// tells of a kernel as soon as its last byte is there, never of half of one, and of near-equal drafts (white space and
// comments apart) once. Kernels are found inside fences and without them.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace specgen {

struct HarvestedKernel {
  std::string source;
  std::size_t begin = 0;  // in the stream's thinking, in bytes
  std::size_t end = 0;
  bool fenced = false;
  bool is_python = false;  // a ModelNew class
};

class Harvester {
 public:
  explicit Harvester(std::string backend);  // "cpu" or "cuda"
  Harvester(Harvester&&) noexcept;
  ~Harvester();

  void feed(std::string_view thinking, std::vector<HarvestedKernel>& found);
  // The thinking is over: a kernel that ended with it and had no fence.
  void finish(std::vector<HarvestedKernel>& found);

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace specgen
