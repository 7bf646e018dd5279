#pragma once
// Is an output correct? Each element may differ from the fp64 reference by what correct rounding in the task's
// precision can cause: tolerance * u * (2 + sqrt(terms)) * scale, plus the rounding of the output itself.
// `scale` is the
// sum of the absolute terms of that element, computed by the reference. In addition the RMS error over all elements may
// exceed the baseline's own only by a factor, which finds a silent loss of precision (fp16 or tf32 inside an
// fp32 task).
// Pure functions.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "evaluate/task/cases.h"
#include "evaluate/task/dtype.h"
#include "evaluate/verdict.h"

namespace specgen {

// The reference values of one output tensor: all of it, a piece, or samples at secret places.
struct Expected {
  std::vector<std::int64_t> at;  // flat indices; empty: elements in order, starting
  std::int64_t first = 0;        // with this one
  std::vector<double> value;
  std::vector<double> scale;  // sum of absolute terms; as long as value
  std::uint64_t key = 0;      // identifies the contents, for caches; 0: not to be cached
};

struct Tolerance {
  double scale_factor = 0;  // times scale
  double value_factor = 0;  // times |value|: the output's own rounding
  double rms_factor = 4;    // times the baseline's RMS error
};
Tolerance tolerance_of(const CheckPolicy& policy, const Case& of, Dtype output);

// The test of one element, the same on the host and in specgen_compare on a device:
//   |got - value| <= scale_factor * scale + value_factor * |value| + floor
// A NaN never passes it. Where the reference is not finite, got must be the same infinity or also
// a NaN. Where |value| and its bound reach `overflow`, which rounds to infinity, got may be that
// infinity. An integer that holds its poison counts as unwritten only if it is wrong.
struct Bounds {
  double scale_factor = 0;
  double value_factor = 0;
  double floor = 0;     // below this the dtype cannot resolve differences; 0 for integers
  double overflow = 0;  // infinity: there is none
};
Bounds bounds_of(const Tolerance& tolerance, Dtype output);
// Twice the bounds: candidate and baseline may both be off.
Bounds baseline_bounds_of(const Tolerance& tolerance, Dtype output);

// The result of comparing one output. Reports of pieces can be merged. The blocks of specgen_compare write this very
// layout.
struct OutputReport {
  std::int64_t elements = 0;
  std::int64_t unwritten = 0;  // still poison
  std::int64_t nonfinite = 0;  // where the reference is finite
  std::int64_t beyond = 0;     // outside the bound
  std::int64_t worst_at =
      -1;                  // flat index of the first unwritten, else first nonfinite, else worst
  double worst_ratio = 0;  // error over bound
  double worst_expected = 0;
  double worst_got = 0;
  double worst_relative = 0;  // error over scale, of those beyond; infinity where scale is 0
  double error_squares = 0;   // sum over what is finite, for the RMS
  double value_squares = 0;

  double rms_error() const;
  double rms_value() const;
};
void merge(OutputReport& into, const OutputReport& more);

// `got` is the whole tensor, even if only a part of it is expected.
OutputReport compare(const Tensor& tensor, std::span<const std::byte> got, const Expected& expected,
                     const Tolerance& tolerance, Poison poison);

// Compares a candidate with the baseline on the same input where there is no full reference: every element or those of
// a piece, with one scale for all.
struct Piece {
  std::int64_t first = 0;
  std::int64_t count = -1;  // all that follow
};
OutputReport compare_with_baseline(const Tensor& tensor, std::span<const std::byte> got,
                                   std::span<const std::byte> baseline, double scale,
                                   const Tolerance& tolerance, Poison poison, Piece piece = {});

// From a report to a verdict: unwritten before nonfinite before wrong (beyond the bound by more than 2 % of the scale)
// before imprecise. `baseline_rms` < 0: not known. For a hidden case the text has only its class and a rough share of
// the elements: an exact number would reveal its shape.
Finding judge_output(const Case& of, const Tensor& tensor, const OutputReport& report,
                     const Tolerance& tolerance, double baseline_rms);

}  // namespace specgen
