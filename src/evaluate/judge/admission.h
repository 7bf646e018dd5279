#pragma once
// May a task be trusted to tell right from wrong? Its checker is shown outputs that cheats produce
// (zeros, ones, NaN, a copy of an input, the output of another input, the mean, sums in half
// precision) and must refuse each on every case; it is shown the baseline's output and one with the
// noise of sums in another order, and must accept both.

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

// How often a cheat was shown and how often it passed. On an output of a few elements it may be right
// by accident (gelu of 5 is 5), so there it counts only if it passes everywhere.
struct CheatTally {
  std::size_t shown = 0;
  std::vector<AdmissionFault> passed_small = {};
};
using CheatTallies = std::map<std::string, CheatTally>;

// The checker alone, on data; no program of the task runs. `other` is the same case with another
// seed.
void show_variants(const CheckPoint& point, const CheckPoint& other,
                   const std::vector<std::vector<std::byte>>& inputs, Admission& into,
                   CheatTallies& tallies);
void count_tallies(const CheatTallies& tallies, Admission& into);

// The baseline is run on the judge's device.
Task<Result<Admission>> admit(Judge& judge, PreparedTask& prepared);

}  // namespace specgen
