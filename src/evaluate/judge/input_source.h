#pragma once
// Where a task's inputs and expected outputs come from: for a native task from data.h and reference.cc, for a PyTorch
// task from a Python process. Only the judge uses it; a candidate sees inputs when it is called, and expected outputs
// never. Contents pass through host memory, or go straight to the device where the source runs on it.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/error.h"
#include "evaluate/judge/compare.h"
#include "evaluate/task/cases.h"
#include "runtime/task.h"

namespace specgen {

// One call of a source that is its own baseline.
struct EagerRun {
  double ns = 0;
  std::vector<std::vector<std::byte>> outputs;  // in their own dtype
};

// Device memory that the judge has exported, into which a source on that device writes a tensor.
struct ExportedTensor {
  int descriptor = -1;               // the caller's
  std::size_t allocation_bytes = 0;  // of the exported allocation
  std::size_t offset = 0;            // of the tensor in it
};

class InputSource {
 public:
  virtual ~InputSource() = default;

  // The contents of every input, in order. The same seed gives the same bytes.
  virtual Task<Result<std::vector<std::vector<std::byte>>>> draw(const Case& at,
                                                                 std::uint64_t seed) = 0;

  // The same, written to `into`.
  virtual Task<Result<void>> draw_to(const Case& at, std::uint64_t seed,
                                     std::vector<std::span<std::byte>> into);

  // The expected outputs: all elements, or if `samples` is not 0 that many at secret places (for
  // tasks whose reference supports it).
  virtual Task<Result<std::vector<Expected>>> expect(const Case& at, std::uint64_t seed,
                                                     std::size_t samples) = 0;
  virtual Tolerance tolerance(const Case& at, const Tensor& output) const = 0;

  // Whether draw() is data.h's fill(): then a device may generate inputs itself.
  virtual bool is_generated() const = 0;

  // Whether the source is the baseline too: a PyTorch module runs in its own process.
  virtual bool is_baseline() const = 0;
  virtual Task<Result<EagerRun>> run_baseline(const Case& at, std::uint64_t seed) = 0;

  // Whether the source runs on the GPU that its candidates run on. Then these two replace draw() and
  // run_baseline(), with one allocation per tensor. Before the baseline `cold_bytes` of other data go
  // through the caches; its time is returned in ns.
  virtual bool is_on_device() const { return false; }
  virtual Task<Result<void>> draw_into(const Case& at, std::uint64_t seed,
                                       std::vector<ExportedTensor> inputs);
  virtual Task<Result<double>> run_baseline_into(const Case& at, std::uint64_t seed,
                                                 std::vector<ExportedTensor> outputs,
                                                 std::size_t cold_bytes);
};

// `count` secret places in a tensor, ascending: the first, the last and random others.
std::vector<std::int64_t> sample_of(std::int64_t elements, std::size_t count, std::uint64_t seed);

// The seed of one input of a set: fill(tensor, dtype, distribution, tensor_seed(seed, index)).
std::uint64_t tensor_seed(std::uint64_t seed, std::size_t index);
std::vector<Tolerance> tolerances_of(const InputSource& source, const Case& at);  // by output
const Distribution& distribution_of(const KernelTask& task, const Case& at, std::size_t input);

}  // namespace specgen
