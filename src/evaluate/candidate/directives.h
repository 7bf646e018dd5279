#pragma once
// The `specgen:` lines of a candidate, read by a trusted parser; the compiler sees them as comments.
//
//   // specgen:tune BLOCK = 128, 256, 512        the first value is the default
//   // specgen:scratch partial f32[rows, ceildiv(cols, 4096)]    CPU: only a number of bytes
//   // specgen:zero partial                      set to zero before every call, timed with it
//   // specgen:tensormap t = tiled(x, box(64, 64), swizzle 128)  a descriptor that the harness makes
//   // specgen:launch k<BLOCK><<<grid, block, shared, cluster=(2,1,1), cooperative>>>(x + 4, 1.5)
//
// Parsing knows no shapes; resolve() in launch_plan.h evaluates the expressions. Every mistake is a Rejection with its
// line, which becomes the verdict `rejected`. Limits: 1 MiB of source, 64 directives, 16 launches,
// 64 arguments, 8 tunables of 32 values.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "evaluate/candidate/rejection.h"
#include "evaluate/task/dtype.h"
#include "evaluate/task/expression.h"

namespace specgen {

struct Tunable {
  std::string name;
  std::vector<std::int64_t> values;  // the first is the default
  int line = 0;
};

struct ScratchSpec {
  std::string name;  // CPU: may be empty, there is one
  Dtype dtype = Dtype::f32;
  std::vector<Expression> shape;
  bool zeroed = false;
  int line = 0;
};

struct TensormapSpec {
  std::string name;
  std::string tensor;
  std::vector<Expression> box;  // innermost dimension last, as the tensor's shape
  int swizzle = 0;              // bytes: 0, 32, 64, 128
  int line = 0;
};

// Expressions may also be a task scalar or a float literal where a kernel takes a float.
struct PointerArgument {  // `name + expression`
  std::string tensor;     // of the task, or scratch; an axis or tunable makes it an integer
  Expression offset;      // in elements
};
struct IntegerArgument {
  Expression value;
};
struct RealArgument {
  double value = 0;
};
struct NamedArgument {  // a single name; resolve() finds out what it is
  std::string name;
};
using LaunchArgument = std::variant<PointerArgument, IntegerArgument, RealArgument, NamedArgument>;

struct LaunchSpec {
  std::string kernel;
  // The parts between < and >, each a type name, `true`/`false`, or an expression over tunables.
  std::vector<std::string> template_arguments;
  std::array<Expression, 3> grid;
  std::array<Expression, 3> block;
  Expression shared_bytes;
  std::optional<std::array<Expression, 3>> cluster;
  bool cooperative = false;
  std::vector<LaunchArgument> arguments;
  int line = 0;
};

struct ZeroedOutput {  // specgen:zero of an output; resolve() checks that it is one
  std::string name;
  int line = 0;
};

struct Directives {
  std::vector<Tunable> tunables;
  std::vector<ScratchSpec> scratch;
  std::vector<ZeroedOutput> zeroed_outputs;
  std::vector<TensormapSpec> tensormaps;
  std::vector<LaunchSpec> launches;
};

// A directive is a line that begins with `//`; a backslash at its end continues it. Refuses what is not UTF-8 text or
// has NUL bytes, sources above 1 MiB, and an empty file.
Accepted<Directives> parse_directives(std::string_view source);

// The default values, or those requested. Unknown tunables and values that are not declared are refused.
Accepted<Values> tunable_values(const Directives& directives, const Values& chosen);

// The source with these values as the defaults: first in their lines. Refuses what tunable_values() refuses.
Accepted<std::string> with_defaults(std::string_view source, const Values& chosen);

}  // namespace specgen
