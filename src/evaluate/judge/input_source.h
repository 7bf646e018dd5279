#pragma once
// Where a task's inputs come from and what the outputs must be: drawn by data.h and told by
// reference.cc for a native task, both by a Python process for a PyTorch task. The judge alone asks;
// a candidate sees inputs when it is called, and expectations never. Contents pass through host
// memory, or go straight to the device where the source lives there.

#include <cstddef>
#include <cstdint>
#include <span>
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

// Device memory that the judge has exported: where a source on that device puts a tensor itself.
struct ExportedTensor {
  int descriptor = -1;               // the caller's
  std::size_t allocation_bytes = 0;  // of all that is exported
  std::size_t offset = 0;            // of the tensor in it
};

class InputSource {
 public:
  virtual ~InputSource() = default;

  // The contents of every input, in order. The same seed gives the same bytes.
  virtual Task<Result<std::vector<std::vector<std::byte>>>> draw(const Case& at,
                                                                 std::uint64_t seed) = 0;

  // The same, to where it is needed.
  virtual Task<Result<void>> draw_to(const Case& at, std::uint64_t seed,
                                     std::vector<std::span<std::byte>> into);

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

  // Whether the source lives on the GPU that its candidates run on. Then draw() and run_baseline()
  // are these, one piece of memory for every tensor; the baseline finds `cold_bytes` of other things
  // in the caches, and its time is returned, in ns.
  virtual bool is_on_device() const { return false; }
  virtual Task<Result<void>> draw_into(const Case& at, std::uint64_t seed,
                                       std::vector<ExportedTensor> inputs);
  virtual Task<Result<double>> run_baseline_into(const Case& at, std::uint64_t seed,
                                                 std::vector<ExportedTensor> outputs,
                                                 std::size_t cold_bytes);
};

// `count` secret places in a tensor, in ascending order: the first, the last and others by chance.
std::vector<std::int64_t> sample_of(std::int64_t elements, std::size_t count, std::uint64_t seed);

// The seed of one input of a set: fill(tensor, dtype, distribution, tensor_seed(seed, index)).
std::uint64_t tensor_seed(std::uint64_t seed, std::size_t index);
const Distribution& distribution_of(const KernelTask& task, const Case& at, std::size_t input);

}  // namespace specgen
