#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "evaluate/candidate/cpu_gate.h"
#include "evaluate/candidate/source_gate.h"

namespace specgen {
namespace {

constexpr std::array<std::string_view, 55> kHeaders{
    "algorithm",   "array",       "arm_acle.h",  "arm_bf16.h", "arm_fp16.h",  "arm_neon.h",
    "arm_sve.h",   "bit",         "bitset",      "cassert",    "cfloat",      "climits",
    "cmath",       "compare",     "complex",     "concepts",   "cstddef",     "cstdint",
    "cstring",     "emmintrin.h", "float.h",     "functional", "immintrin.h", "initializer_list",
    "inttypes.h",  "cinttypes",   "iterator",    "limits",     "limits.h",    "math.h",
    "nmmintrin.h", "numbers",     "numeric",     "optional",   "pmmintrin.h", "ratio",
    "smmintrin.h", "span",        "stdalign.h",  "stdbool.h",  "stddef.h",    "stdint.h",
    "stdfloat",    "string.h",    "tmmintrin.h", "tuple",      "type_traits", "utility",
    "version",     "x86intrin.h", "xmmintrin.h", "assert.h",   "avxintrin.h", "avx2intrin.h",
    "variant"};

struct Hint {
  std::string_view text;
  std::vector<std::string_view> headers;
};
const std::vector<Hint> kHints{
    {"memory comes from '// specgen:scratch BYTES' and the stack",
     {"vector", "memory", "new", "cstdlib", "stdlib.h", "malloc.h", "string", "map", "deque",
      "list", "unordered_map", "set", "queue", "stack", "memory_resource", "mm_malloc.h"}},
    {"the harness calls the function on tid 0..nthreads-1; specgen_barrier() waits for all",
     {"thread", "omp.h", "pthread.h", "future", "mutex", "atomic", "condition_variable", "barrier",
      "latch", "semaphore", "execution", "tbb/tbb.h", "stop_token"}},
    {"a candidate cannot read or print anything",
     {"iostream", "cstdio", "stdio.h", "fstream", "sstream", "ostream", "istream", "print",
      "format", "filesystem", "unistd.h", "fcntl.h", "sys/mman.h", "dlfcn.h"}},
    {"there is no clock: the harness takes the time", {"chrono", "time.h", "ctime", "sys/time.h"}},
    {"there is no library but libm",
     {"cblas.h", "mkl.h", "Eigen/Dense", "dnnl.hpp", "openblas/cblas.h", "fftw3.h"}}};

std::string instead(std::string_view header) {
  for (const Hint& hint : kHints) {
    if (std::ranges::find(hint.headers, header) != hint.headers.end()) {
      return fmt::format(": {}", hint.text);
    }
  }
  return ": <cmath>, <cstring>, <algorithm>, <immintrin.h> and similar headers are allowed";
}

}  // namespace

Accepted<void> check_cpu_source(std::string_view source) {
  TRY(check_text(source));
  SourceRules rules{.may_include =
                        [](std::string_view header) {
                          return std::ranges::find(kHeaders, header) != kHeaders.end();
                        },
                    .instead = instead,
                    .machine_assembler = true};
  return check_source(SourceText(source), rules);
}

}  // namespace specgen
