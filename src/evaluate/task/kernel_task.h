#pragma once
// A native task: what to compute, on which shapes, how exactly, and the baseline to beat. A folder
// with task.toml, reference.cc, baseline.cc and baseline.cu; docs/reference/tasks.md is its format. Loading
// runs nothing. A mistake in it is an Error (bad_task, exit code 2) with file and line.

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "evaluate/task/dtype.h"
#include "evaluate/task/expression.h"

namespace specgen {

enum class Backend : std::uint8_t { cpu, cuda };
std::string_view to_string(Backend backend);  // "cpu", "cuda"

// The distribution of an input's numbers; data.h draws them.
struct Distribution {
  enum class Kind : std::uint8_t {
    normal,
    uniform,
    heavy,
    positive,
    integers,
    signs
  } kind = Kind::normal;
  double a = 0;              // normal: mean; heavy: scale; else: low
  double b = 1;              // normal: deviation; else: high, exclusive
  std::string text() const;  // "uniform(-1, 1)"
  friend bool operator==(const Distribution&, const Distribution&) = default;
};

struct TensorSpec {
  std::string name;
  Dtype dtype = Dtype::f32;
  std::vector<Expression> shape;
  std::vector<Distribution> data;  // of an input: one or more; empty for an output
};

struct ScalarSpec {
  std::string name;
  double value = 0;
};

// An axis, with the range for the lengths of hidden cases.
struct AxisSpec {
  std::string name;
  std::int64_t low = 1;
  std::int64_t high = 1;
  std::int64_t multiple = 1;  // every length is a multiple of it
};

// A case that models and users may know.
struct PublicCase {
  Values axes;
  double weight = 0;              // in the speedup; 0: not timed
  std::vector<Backend> backends;  // where it is run
};

struct CheckPolicy {
  Expression reduction = Expression::constant(1);  // how many terms an output element sums up
  double tolerance = 8;                            // in units of correct rounding
  double unit_roundoff = 0x1p-24;                  // of the precision of products; f32 by default
  bool sampled = false;        // large cases: secret samples in fp64, the rest against the baseline
  bool deterministic = false;  // the same input must give the same bits
};

struct KernelTask {
  std::filesystem::path folder;
  std::string name;
  std::string variant;  // the dtype of T, "f32"
  std::string summary;
  int level = 1;
  Dtype element = Dtype::f32;   // T
  std::vector<Dtype> elements;  // all dtypes that T may be
  std::vector<AxisSpec> axes;
  std::vector<TensorSpec> inputs;
  std::vector<TensorSpec> outputs;
  std::vector<ScalarSpec> scalars;
  std::vector<PublicCase> cases;
  int hidden_cases = 4;
  bool fixed_shape = false;                // a PyTorch task: one public shape; marked in results
  std::int64_t hidden_elements = 1 << 22;  // limit for all tensors of a hidden case together
  Expression bytes;                        // minimum that must be moved
  Expression flops;                        // minimum that must be done
  std::string rate = "f32";                // of the unit: f32, f16 (tensor cores), tf32, bf16, f64
  CheckPolicy check;
  std::vector<std::string> cpu_flags;  // in addition to the flags for every candidate
  std::string vendor;                  // Python expression that computes it with torch; empty: none
  std::string reference_source;
  std::string baseline_cc;  // empty: no baseline for that backend
  std::string baseline_cu;

  bool has(Backend backend) const {
    return !(backend == Backend::cpu ? baseline_cc : baseline_cu).empty();
  }
  std::string title() const;  // "softmax", or "softmax:f16" for a variant that is not the first
};

// `where` is a folder, or FOLDER:DTYPE for a variant.
Result<KernelTask> load_task(std::string_view where);

// Every task folder below `folder` (or that folder itself), in the order of names; those that do
// not load come as errors.
struct ListedTask {
  std::filesystem::path folder;
  Result<KernelTask> task;
};
Result<std::vector<ListedTask>> list_tasks(const std::filesystem::path& folder);

}  // namespace specgen
