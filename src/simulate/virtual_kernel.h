#pragma once
// The kernels of a simulated simulation: small sources that carry what is true about them in their code, where a judge
// that lives in the same simulation reads it. Comments would not do: equal candidates are equal without them.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "evaluate/verdict.h"

namespace specgen {

struct KernelTruth {
  Verdict verdict = Verdict::ok;  // what an honest judge finds
  double speedup = 1;             // if it is ok; to a millionth
  bool poison = false;            // takes every executor with it that runs it
  std::uint64_t number = 0;       // sets it apart from others
  bool tunable = false;           // it has a tunable W of 1 and 2
};

std::string virtual_kernel(const KernelTruth& truth);
std::optional<KernelTruth> read_truth(std::string_view source);  // with its defaults

// With W = 2: half of the kernels are faster then.
KernelTruth tuned(KernelTruth truth);

// The same as one word, for the names of programs.
std::string truth_word(const KernelTruth& truth);
std::optional<KernelTruth> read_truth_word(std::string_view word);

}  // namespace specgen
