#pragma once
// Where a task's inputs come from and what the outputs must be: drawn by data.h and told by
// reference.cc for a native task, both by a Python process for a PyTorch task. The judge alone asks;
// a candidate sees inputs when it is called, and expectations never. Everything is in host memory.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/error.h"
#include "evaluate/judge/compare.h"
#include "evaluate/task/cases.h"
#include "runtime/task.h"

namespace specgen {

// What a source that is its own baseline did on the inputs of one seed.
struct EagerRun {
  double ns = 0;
  std::vector<std::vector<std::byte>> outputs;  // in their own dtype
};

class InputSource {
 public:
  virtual ~InputSource() = default;

  // The contents of every input, in order. The same seed gives the same bytes.
  virtual Task<Result<std::vector<std::vector<std::byte>>>> draw(const Case& at,
                                                                 std::uint64_t seed) = 0;

  // What is right, one for every output: all elements, or so many secret samples (of tasks whose
  // reference can do that).
  virtual Task<Result<std::vector<Expected>>> expect(const Case& at, std::uint64_t seed,
                                                     std::size_t samples) = 0;
  virtual Tolerance tolerance(const Case& at, const Tensor& output) const = 0;

  // Whether draw() is data.h's fill(): then a device may draw for itself.
  virtual bool is_generated() const = 0;

  // A PyTorch module is the baseline that its candidates are measured by; it runs where it lives.
  virtual bool is_baseline() const = 0;
  virtual Task<Result<EagerRun>> run_baseline(const Case& at, std::uint64_t seed) = 0;
};

// The seed of one input of a set: fill(tensor, dtype, distribution, tensor_seed(seed, index)).
std::uint64_t tensor_seed(std::uint64_t seed, std::size_t index);
const Distribution& distribution_of(const KernelTask& task, const Case& at, std::size_t input);

}  // namespace specgen
