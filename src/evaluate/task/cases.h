#pragma once
// The concrete cases of a task: the public ones, and hidden ones drawn from the run's secret, which
// only the judge holds. Sizes are checked here once: after this, shapes cannot overflow.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "evaluate/task/kernel_task.h"

namespace specgen {

// 128 secret bits per run. Everything that a candidate must not be able to predict derives from it.
struct Secret {
  std::array<std::uint64_t, 2> words{};
  std::uint64_t derive(std::string_view purpose, std::uint64_t number = 0) const;
};
Secret fresh_secret();  // from the system

struct Tensor {  // of one case: numbers instead of expressions
  std::string name;
  Dtype dtype = Dtype::f32;
  std::vector<std::int64_t> shape;
  std::int64_t elements = 0;
  std::size_t bytes() const { return static_cast<std::size_t>(elements) * size_of(dtype); }
};

struct Case {
  Values axes;
  std::vector<std::string> axis_order;  // as the task lists them
  bool hidden = false;
  std::string hidden_class;  // "odd", "prime", "one", "any"; for a hidden case
  double weight = 0;         // in the speedup; 0: not timed
  std::size_t draw = 0;      // which of the inputs' distributions, modulo their number
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;
  double min_bytes = 0;
  double min_flops = 0;
  double reduction = 1;
  std::string rate;  // the unit that does the flops

  std::string title() const;  // "rows=64 cols=1000" (and " data=2"), or "hidden (odd)"
  Bytes footprint() const;    // of all tensors together
};

// bad_task for an unknown axis, an overflow, an empty or absurdly large shape.
Result<Case> make_case(const KernelTask& task, Values axes);
// Each case once per distribution of its inputs; only the first has the weight.
Result<std::vector<Case>> public_cases(const KernelTask& task, Backend backend);
// A function of the secret. By class: all axes odd; all prime; one axis at its minimum; any. If an axis has a multiple,
// its length divided by that is odd or prime.
Result<std::vector<Case>> hidden_cases(const KernelTask& task, const Secret& secret);

}  // namespace specgen
