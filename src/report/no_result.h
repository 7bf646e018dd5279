#pragma once
// Why a task of a run has no kernel to show, and what a user can do about it. A pure function of the run's
// data, for the
// page and the table.

#include <optional>
#include <string>

#include "report/run_data.h"

namespace specgen {

struct NoResult {
  std::string
      reason;  // "none of the 12 candidates is correct; most frequent verdict: compile_error (9 of 12)"
  std::string advice;
};
// None if the task has a best kernel.
std::optional<NoResult> why_no_result(const RunData& run, std::uint32_t task);

}  // namespace specgen
