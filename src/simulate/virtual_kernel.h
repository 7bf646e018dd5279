#pragma once
// The kernels of a simulation: small sources that carry the truth about themselves in their code, where the virtual
// judges read it. Comments would not do: equal candidates are equal without them.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "evaluate/verdict.h"

namespace specgen {

struct KernelTruth {
  Verdict verdict = Verdict::ok;  // of a correct judge
  double speedup = 1;             // if ok; with a resolution of a millionth
  bool poison = false;            // kills every executor that runs it
  std::uint64_t number = 0;       // distinguishes it from others
  bool tunable = false;           // has a tunable W with values 1 and 2
};

std::string virtual_kernel(const KernelTruth& truth);
std::optional<KernelTruth> read_truth(std::string_view source);  // with default tunables

// With W = 2: half of the kernels are faster then.
KernelTruth tuned(KernelTruth truth);

// The same without spaces, for the names of programs.
std::string truth_token(const KernelTruth& truth);
std::optional<KernelTruth> read_truth_token(std::string_view token);

}  // namespace specgen
