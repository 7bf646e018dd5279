#pragma once
// The admission test of a task (`specgen tasks --check`): can its checker distinguish correct from wrong outputs? It
// must refuse what cheats produce (zeros, ones, NaN, a copy of an input, the output of another input, the mean, sums in
// half precision) on every case, and accept the baseline's output and the noise of sums in another order. The baseline
// runs on the judge's device, so every backend of a task is tested on a device of its own.

#include <map>
#include <string>
#include <vector>

#include "evaluate/judge/judge.h"

namespace specgen {

struct AdmissionFault {
  std::string variant;  // "zeros", "reordered sums"
  std::string case_name;
  std::string text;
};

struct Admission {
  std::vector<AdmissionFault> faults;  // none: admitted
  std::size_t checks = 0;
  bool admitted() const { return faults.empty(); }
};

// How often a cheat was tried and where it passed. On an output of a few elements it may be correct by
// accident (gelu of
// 5 is 5), so there it counts only if it passes everywhere.
struct CheatTally {
  std::size_t tried = 0;
  std::vector<AdmissionFault> passed_small = {};
};
using CheatTallies = std::map<std::string, CheatTally>;

// Tests the checker on data; no program of the task runs. `other` is the same case with another seed.
void try_variants(const CheckPoint& point, const CheckPoint& other,
                  const std::vector<std::vector<std::byte>>& inputs, Admission& into,
                  CheatTallies& tallies);
void count_tallies(const CheatTallies& tallies, Admission& into);

// The baseline is run on the judge's device.
Task<Result<Admission>> admit(Judge& judge, PreparedTask& prepared);

}  // namespace specgen
